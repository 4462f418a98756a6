"""The state machine of an action beside a model that is written from the design, in whatever order things happen.

`Paper` says what the design says should come of each command; `Trace` watches what really came of it and knows
nothing of the model. Neither reads the code of the state machine.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from interlock.domain import commands as c
from interlock.domain.action import Action, ActionKind, ActionState, CallKey, Preview, RefusalKind, Traits
from interlock.domain.decision import Verdict
from interlock.domain.errors import DecisionError
from interlock.domain.events import EventType
from interlock.domain.ids import ActionId, DecisionId, Digest, EffectHash, InterruptId, ProcessId, RunId
from interlock.domain.interrupt import Ending, Interrupt, InterruptKind
from interlock.domain.lifecycle import Moved, Opening, begin, due, move
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.tool import InterruptPolicy

S, E = ActionState, EventType
NONE, ASYNC, SOFT, HARD, DENY = InterruptPolicy

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
OPEN_FOR = timedelta(hours=4)
GOOD_FOR = timedelta(hours=1)
WINDOW = timedelta(minutes=10)
MOST_RUNS = 3
LAPSED = {"expired", "withdrawn", "superseded", "tool_changed"}
PREVIEWS = (None, Preview("3 rows"), Preview("4 rows"), Preview(failed="ValueError: no rows"))
PEOPLE = ("reviewer:ana", "reviewer:li")
PROCESSES = tuple(ProcessId(name) for name in ("p1", "p2", "p3"))


def ruling(policy: InterruptPolicy, profile: str = "cautious", *, explained: bool = False) -> Ruling:
    window = WINDOW if policy is SOFT else None
    reasons = (Reason("because", f"it is {policy.value}"),)
    return Ruling(
        policy, policy, reasons, profile, expires_in=OPEN_FOR, approval_valid_for=GOOD_FOR, window=window,
        reason_required=explained,
    )  # fmt: skip


@dataclass(frozen=True)
class Said:
    """What the model says should come of a command."""

    facts: tuple[EventType, ...] = ()
    opens: str = ""
    closes: str = ""
    claimed: bool = False
    refusal: str = ""
    error: str = ""


NOTHING = Said()


@dataclass
class Paper:
    """An action as the design tells of it: what is known, what was said about it, and who holds it.

    `happened` is what is known of the effect: `no`, `unknown` or `yes`. `yes_at` is when a person last said yes
    (None: nobody did), `void` that it counts no more. `runs` counts executions since a person last looked,
    `cards` the cards that it had.
    """

    traits: Traits
    strictness: int
    wants_a_reason: bool = False
    state: str = ""
    card: str = ""
    deadline: datetime | None = None
    yes_at: datetime | None = None
    void: bool = False
    cards: int = 0
    happened: str = "no"
    runs: int = 0
    fence: int = 0
    again: bool = False
    holder: str | None = None
    told: tuple[str, bytes | None] | None = None
    responded: bool = False
    refusal: str = ""
    retried: bool = False
    rev: str = "rev1"
    revision: int = 1

    @property
    def kind_of_card(self) -> str:
        return {"call": "action"}.get(self.traits.kind.value, self.traits.kind.value)

    # -- the steps that the design names -----------------------------------------------------------

    def hold(self, now: datetime) -> None:
        self.state, self.card, self.deadline = "held", "action", now + OPEN_FOR
        self.yes_at, self.void, self.runs, self.holder, self.cards = None, False, 0, None, self.cards + 1

    def refuse(self, kind: str) -> None:
        self.state, self.refusal, self.card = "refused", kind, ""

    def lapse(self) -> Said:
        self.refuse("expired")
        return Said((E.INTERRUPT_EXPIRED,), closes="expired")

    def late(self, now: datetime) -> bool:
        return self.card == "action" and self.deadline is not None and now >= self.deadline

    def doubt(self, fact: EventType) -> Said:
        """Unknown: the machinery helps itself where it may; else a person is asked."""
        self.state, self.happened, self.holder = "in_doubt", "unknown", None
        if self.may_rerun or self.traits.probed:
            return Said((fact,))
        return self.ask((fact,))

    def ask(self, facts: tuple[EventType, ...] = ()) -> Said:
        self.card = "reconcile"
        return Said((*facts, E.RECONCILE_OPENED), opens="reconcile")

    def doubt_again(self, fact: EventType, *, ask: bool) -> Said:
        """A person let it run again, and it did not: nobody knows more than before."""
        self.state, self.void = "in_doubt", self.yes_at is not None
        return self.ask((fact,)) if ask else Said((fact,))

    @property
    def may_rerun(self) -> bool:
        harmless = self.traits.idempotent or self.traits.reversibility in ("reversible", "read_only")
        return harmless and self.runs < MOST_RUNS

    # -- commands ----------------------------------------------------------------------------------

    def begin(self, opening: Opening, profile: str, now: datetime) -> Said:
        if opening.repeated:
            self.refuse("repeated")
            return Said((E.ACTION_REFUSED,))
        if opening.over_ticket:
            self.refuse("denied")
            return Said((E.ACTION_REFUSED,))
        if opening.duplicate and profile != "record":
            self.strictness = max(self.strictness, HARD.rank)
        if self.strictness == DENY.rank:
            self.refuse("denied")
            return Said((E.ACTION_REFUSED,))
        if self.strictness < SOFT.rank:
            self.state = "cleared"
            return Said((E.ACTION_CLEARED,))
        if opening.nested:
            self.refuse("nested_pause")
            return Said((E.ACTION_REFUSED,))
        self.hold(now)
        return Said((E.ACTION_HELD,), opens=self.kind_of_card)

    def decide(self, verdict: Verdict, revised: InterruptPolicy, note: str, now: datetime) -> Said:
        if self.card != "action":
            return Said(error="not_open")
        if self.late(now):
            said = self.lapse()
            if verdict is Verdict.REJECT:
                return replace(said, facts=(*said.facts, E.LATE_REJECTION_RECORDED))
            return replace(said, refusal="expired")
        nothing_to_approve = self.traits.kind is ActionKind.QUESTION and verdict in (Verdict.APPROVE, Verdict.MODIFY)
        not_offered = bool(self.traits.answers) and verdict.value not in self.traits.answers
        if verdict.reconciles or nothing_to_approve or not_offered:
            return Said(error="bad_verdict")
        if self.wants_a_reason and verdict in (Verdict.APPROVE, Verdict.MODIFY) and not note:
            return Said(error="reason_missing")
        if verdict is Verdict.MODIFY and revised is DENY:
            return Said(error="edit_denied")
        self.card = ""
        if verdict in (Verdict.REJECT, Verdict.REDIRECT):
            self.refuse("rejected" if verdict is Verdict.REJECT else "redirected")
            return Said((E.DECISION_RECORDED,), closes=self.refusal)
        if verdict is Verdict.RESPOND:
            self.state, self.responded = "done", True
            return Said((E.DECISION_RECORDED,), closes="responded")
        self.state, self.yes_at = "cleared", now
        if verdict is Verdict.MODIFY:
            self.revision, self.runs, self.strictness = self.revision + 1, 0, revised.rank
            self.wants_a_reason = False
            return Said((E.DECISION_RECORDED,), closes="modified")
        return Said((E.DECISION_RECORDED,), closes="approved")

    def proceed(self, opened_at: datetime, now: datetime) -> Said:
        if self.late(now):
            return self.lapse()
        first = self.card == "action" and self.cards == 1 and not self.fence
        if not first or self.strictness != SOFT.rank or now < opened_at + WINDOW:
            return NOTHING
        self.state, self.card = "cleared", ""
        return Said((E.SILENCE_PROCEEDED,), closes="proceeded")

    def expire(self, now: datetime) -> Said:
        return self.lapse() if self.late(now) else NOTHING

    def revoke(self, now: datetime) -> Said:
        if self.state in ("executing", "done"):
            return Said(error="already_claimed")
        if self.state != "cleared" or self.yes_at is None:
            return Said(error="not_approved")
        if self.happened == "unknown":
            return self.doubt_again(E.APPROVAL_REVOKED, ask=True)
        self.hold(now)
        return Said((E.APPROVAL_REVOKED,), opens=self.kind_of_card)

    def leave_behind(self, kind: str, fact: EventType, now: datetime) -> Said:
        if self.late(now):
            return self.lapse()
        if self.state not in ("held", "cleared"):
            return NOTHING
        if self.state == "cleared" and self.happened == "unknown":
            return self.doubt_again(E.ACTION_IN_DOUBT, ask=False)
        closes = kind if self.card else ""
        self.refuse(kind)
        return Said((fact,), closes=closes)

    def take(self, command: c.Take, now: datetime) -> Said:
        if self.late(now):
            return self.lapse()
        if self.state == "executing" and self.traits.composite:
            self.holder = command.process
            return Said(claimed=True)
        rerun = self.state == "in_doubt"
        if not (self.state == "cleared" or (rerun and self.may_rerun and not self.card)):
            return NOTHING
        against = self.against(command, now)
        if against is None:
            was, self.state, self.holder, self.happened = self.happened, "executing", command.process, "unknown"
            self.fence, self.runs, self.again = self.fence + 1, self.runs + 1, was == "unknown"
            return Said((E.ACTION_CLAIMED,), claimed=True)
        if rerun:
            return self.ask()
        if self.happened == "unknown":
            return self.doubt_again(E.ACTION_IN_DOUBT, ask=True)
        if against != "look again":
            self.refuse(against)
            return Said((E.ACTION_REFUSED,))
        if self.wants_a_yes(command):
            self.strictness = max(command.ruling_now.policy.rank, self.strictness)
            self.wants_a_reason = False
        self.hold(now)
        return Said((E.ACTION_HELD_AGAIN,), opens=self.kind_of_card)

    def against(self, command: c.Take, now: datetime) -> str | None:
        """What stands against executing now: the age of the yes, the tool as it is now, the policy as it is now."""
        if self.void or (self.state == "cleared" and self.yes_at is not None and now - self.yes_at > GOOD_FOR):
            return "look again"
        if self.runs >= MOST_RUNS:
            return "look again"
        if command.tool_rev != self.rev:
            if not command.arguments_fit or command.reach != self.traits.reach:
                return "tool_changed"
            if self.traits.reversibility == "irreversible" and self.yes_at is not None:
                if self.state == "cleared" and self.happened == "no":
                    self.rev = command.tool_rev
                return "look again"
        if command.over_ticket:
            return "denied"
        if command.ruling_now.policy is DENY and self.strictness < DENY.rank:
            return "denied"
        return "look again" if self.wants_a_yes(command) or self.shows_another(command) else None

    def shows_another(self, command: c.Take) -> bool:
        """Another preview than the one that was approved; where it may have happened, people looked at that instead."""
        now, shown = command.preview, command.shown
        if self.state != "cleared" or self.happened == "unknown" or now is None or shown is None:
            return False
        return now.text != shown.text

    def wants_a_yes(self, command: c.Take) -> bool:
        policy = command.ruling_now.policy
        return policy.rank > self.strictness and policy in (SOFT, HARD) and self.yes_at is None

    def deliver(self, now: datetime) -> Said:
        """The framework that paused is told; only it, and only what was never claimed by a call of ours."""
        if self.late(now):
            return self.lapse()
        if self.state != "cleared" or self.traits.kind is not ActionKind.OBSERVED or self.fence:
            return NOTHING
        self.state = "done"
        return Said((E.ANSWER_DELIVERED,))

    def give_back(self, fence: int) -> Said:
        if self.state != "executing" or fence != self.fence:
            return NOTHING
        self.holder = None
        if self.traits.composite:  # what it entered may have begun
            return NOTHING
        self.runs -= 1
        self.state = "in_doubt" if self.runs else "cleared"
        if self.state == "cleared" and not self.again:
            self.happened = "no"
        return Said((E.ACTION_GIVEN_BACK,))

    def settle(self, fence: int, outcome: c.Outcome) -> Said:
        kind, payload = outcome.kind.value, outcome.result or outcome.failure
        current = fence == self.fence
        if current and self.state == "executing":
            if kind == "in_doubt":
                return self.doubt(E.ACTION_IN_DOUBT)
            self.settled(kind, payload)
            return Said((E.ACTION_DONE if kind == "done" else E.ACTION_FAILED,))
        if kind == "in_doubt":
            return NOTHING
        happened = kind == "done" and self.fence > 0 and self.state in ("cleared", "held")
        if current and (self.state == "in_doubt" or happened):
            closes = "settled" if self.card else ""
            self.settled(kind, payload)
            return Said((E.LATE_OUTCOME_RECORDED,), closes=closes)
        if current and self.state == kind and self.told == (kind, payload):
            return NOTHING
        return Said((E.OUTCOME_CONFLICTED,))

    def settled(self, kind: str, payload: bytes | None) -> None:
        self.state, self.told, self.card, self.holder = kind, (kind, payload), "", None
        self.happened = "yes" if kind == "done" else "no"

    def lose(self, process: str) -> Said:
        if self.holder != process or self.state not in ("executing", "rolling_back"):
            return NOTHING
        self.holder = None
        if self.state == "rolling_back":
            self.state = "rollback_failed"
            return Said((E.ROLLBACK_FAILED,))
        return NOTHING if self.traits.composite else self.doubt(E.ACTION_IN_DOUBT)

    def ask_people(self) -> Said:
        return self.ask() if self.state == "in_doubt" and not self.card else NOTHING

    def reconcile(self, verdict: Verdict, person: bool, now: datetime) -> Said:
        if self.state != "in_doubt":
            return Said(error="not_in_doubt")
        if not verdict.reconciles:
            return Said(error="bad_verdict")
        if person and not self.card:
            return Said(error="not_open")
        closes, self.card = "reconciled" if self.card else "", ""
        if verdict is not Verdict.RUN_AGAIN:
            self.settled("done" if verdict is Verdict.FOUND_DONE else "failed", None)
            self.told = None
        elif person:
            self.state, self.yes_at, self.void, self.runs = "cleared", now, False, 0
        else:
            self.state, self.happened = "cleared", "no"
        return Said((E.ACTION_RECONCILED,), closes=closes)

    def try_anew(self) -> Said:
        lapsed = self.state == "refused" and self.refusal in LAPSED
        if self.retried or not (self.state == "failed" or lapsed):
            return NOTHING
        self.retried = True
        return Said((E.ACTION_RETRIED,))

    def start_rollback(self, process: str) -> Said:
        if self.state != "done" or not self.fence or self.responded:
            return Said(error="not_done")
        self.state, self.fence, self.holder = "rolling_back", self.fence + 1, process
        return Said((E.ROLLBACK_STARTED,), claimed=True)

    def end_rollback(self, fence: int, came_to: str) -> Said:
        if self.state != "rolling_back" or fence != self.fence:
            return NOTHING
        self.holder = None
        self.state, fact = {
            "done": ("rolled_back", E.ROLLBACK_DONE),
            "conflict": ("rollback_conflict", E.ROLLBACK_CONFLICTED),
            "failed": ("rollback_failed", E.ROLLBACK_FAILED),
        }[came_to]
        return Said((fact,))


CHANGES_STATE = {
    E.ACTION_HELD, E.ACTION_CLEARED, E.ACTION_REFUSED, E.ACTION_HELD_AGAIN, E.ACTION_CLAIMED, E.ACTION_DONE,
    E.ACTION_FAILED, E.ACTION_IN_DOUBT, E.ACTION_RECONCILED, E.ACTION_WITHDRAWN, E.ACTION_SUPERSEDED,
    E.DECISION_RECORDED, E.APPROVAL_REVOKED, E.INTERRUPT_EXPIRED, E.LATE_OUTCOME_RECORDED, E.ROLLBACK_STARTED,
    E.ROLLBACK_DONE, E.ROLLBACK_FAILED, E.ROLLBACK_CONFLICTED, E.ACTION_GIVEN_BACK, E.SILENCE_PROCEEDED,
    E.ANSWER_DELIVERED,
}  # fmt: skip

# What an ending says must have become of the action.
ENDING_MEANS = {
    Ending.APPROVED: {S.CLEARED},
    Ending.MODIFIED: {S.CLEARED},
    Ending.PROCEEDED: {S.CLEARED},
    Ending.RESPONDED: {S.DONE},
    Ending.RECONCILED: {S.CLEARED, S.DONE, S.FAILED},
    Ending.SETTLED: {S.DONE, S.FAILED},
    Ending.REJECTED: {RefusalKind.REJECTED},
    Ending.REDIRECTED: {RefusalKind.REDIRECTED},
    Ending.EXPIRED: {RefusalKind.EXPIRED},
    Ending.WITHDRAWN: {RefusalKind.WITHDRAWN},
    Ending.SUPERSEDED: {RefusalKind.SUPERSEDED},
}
DECIDED = {
    Ending.APPROVED, Ending.MODIFIED, Ending.RESPONDED, Ending.REJECTED, Ending.REDIRECTED, Ending.RECONCILED,
}  # fmt: skip
NEVER_CHANGES = ("id", "run", "agent", "tool", "call_key", "scope", "seq", "parent", "proposed_at", "attempt")
NAMELESS = {RefusalKind.EXPIRED, RefusalKind.SUPERSEDED}


@dataclass
class Trace:
    """Everything that ever happened to one action, and the laws that hold for all of it."""

    cards: dict[InterruptId, Interrupt] = field(default_factory=dict)
    fences: set[int] = field(default_factory=set)
    effects: int = 0
    clearings: int = 0
    runs_alone: int = 0
    let_go: bool = False
    known_not_to_have_happened: bool = True
    known_before_the_claim: bool = True

    def watch(self, before: Action | None, command: object, after: Moved) -> None:
        self.watch_cards(after)
        self.watch_facts(before, after)
        if before is not None:
            self.watch_change(before, command, after)
        self.watch_clearing(before, command, after)
        self.watch_refusal(after)

    def watch_cards(self, after: Moved) -> None:
        for card in after.interrupts:
            known = self.cards.get(card.id)
            if known is None:
                assert card.open, "a card is born open"
            else:
                assert known.open, "a card closes once and never changes again"
                assert not card.open
                assert replace(card, ending=None, ended_at=None, decision=None) == known
            if card.ending is not None:
                action = after.action
                assert ENDING_MEANS[card.ending] & {action.state, action.refusal}, card.ending
                assert card.decision is None or card.ending in DECIDED
            self.cards[card.id] = card
        still = [card for card in self.cards.values() if card.open]
        assert len(still) <= 1, "at most one open card"
        kinds = {card.kind for card in still}
        assert bool(kinds - {InterruptKind.RECONCILE}) == (after.action.state is S.HELD)
        assert InterruptKind.RECONCILE not in kinds or after.action.state is S.IN_DOUBT
        for card in still:
            assert after.action.interrupt == card.id
            assert card.revision == after.action.revision
            if card.kind is not InterruptKind.RECONCILE:
                document = json.loads(card.document) if card.document is not None else None
                bound = card.digest if document is None else document["digest"]
                assert bound == after.action.digest, "what is shown is what will run"
                assert (document is None) == (card.digest == after.action.digest), "a digest names all that is shown"

    def watch_facts(self, before: Action | None, after: Moved) -> None:
        types = [fact.type for fact in after.facts]
        changed = before is None or before.state is not after.action.state
        assert len([kind for kind in types if kind in CHANGES_STATE]) == changed, types
        assert (E.RECONCILE_OPENED in types) == any(
            card.open and card.kind is InterruptKind.RECONCILE for card in after.interrupts
        )
        if E.OUTCOME_CONFLICTED in types:
            assert after == Moved(before, (), after.facts) if before else False, "a conflict changes nothing"
        for fact in after.facts:
            assert fact.interrupt is None or fact.interrupt in self.cards

    def watch_change(self, before: Action, command: object, after: Moved) -> None:
        action = after.action
        assert all(getattr(action, name) == getattr(before, name) for name in NEVER_CHANGES)
        claims = action.state is not before.state and action.state in (S.EXECUTING, S.ROLLING_BACK)
        assert action.fence == before.fence + claims
        if (action.revision, action.digest) != (before.revision, before.digest):
            assert isinstance(command, c.Decide)
            assert command.verdict is Verdict.MODIFY
        if action.state is S.HELD:
            assert (action.cleared_by, action.cleared_at, action.process) == (None, None, None), (
                "no yes outlives a card"
            )
        if before.state is S.REFUSED:
            assert replace(action, retried=before.retried) == before, "what was refused never moves again"
        if before.state is S.DONE:
            assert (action.result, action.stored) == (before.result, before.stored)
        if action.state is S.EXECUTING and before.state is not S.EXECUTING:
            self.watch_execution(before, command, after)

    def watch_execution(self, before: Action, command: object, after: Moved) -> None:
        action = after.action
        assert isinstance(command, c.Take)
        assert after.claimed
        assert action.fence not in self.fences, "one effect a fence"
        assert self.let_go, "only what a person, the policy or silence let go, and nobody took back"
        assert before.state in (S.CLEARED, S.IN_DOUBT)
        assert before.state is S.CLEARED or action.traits.reruns, "what is in doubt is never silently executed again"
        self.fences.add(action.fence)
        self.effects, self.runs_alone = self.effects + 1, self.runs_alone + 1
        assert self.runs_alone <= MOST_RUNS, "a person looks before it is executed a fourth time"
        assert action.traits.reruns or self.effects <= self.clearings, "one execution a clearing"
        self.known_before_the_claim, self.known_not_to_have_happened = self.known_not_to_have_happened, False

    def watch_clearing(self, before: Action | None, command: object, after: Moved) -> None:
        action, was = after.action, before.state if before else None
        person = isinstance(command, c.Decide) or (isinstance(command, c.Reconcile) and command.decision is not None)
        probe = isinstance(command, c.Reconcile) and command.decision is None
        if action.state is S.CLEARED and was not in (S.CLEARED, S.EXECUTING):
            self.clearings += 1
            self.let_go = self.let_go if probe else True
            assert before is None or person or probe or isinstance(command, c.Proceed)
        if action.state is S.HELD or (was is S.CLEARED and action.state is S.IN_DOUBT):
            self.let_go = False
        if person or action.state is S.HELD:
            self.runs_alone = 0
        if was is S.EXECUTING and isinstance(command, c.GiveBack) and action.state is not S.EXECUTING:
            self.effects, self.runs_alone = self.effects - 1, self.runs_alone - 1
            self.known_not_to_have_happened = self.known_before_the_claim
        if action.state is S.FAILED or (probe and command.verdict is Verdict.RUN_AGAIN):
            self.known_not_to_have_happened = True

    def watch_refusal(self, after: Moved) -> None:
        action = after.action
        if action.state is not S.REFUSED:
            assert action.refusal is None
            return
        assert action.refusal is not None
        assert self.known_not_to_have_happened, "refused means that it was not run"
        if action.refusal in NAMELESS:
            assert not action.refused_by
            assert not any(fact.actor for fact in after.facts if fact.type is not E.LATE_REJECTION_RECORDED)


OUTCOMES = (
    c.Outcome(c.OutcomeKind.DONE, result=b'"paid"'),
    c.Outcome(c.OutcomeKind.DONE, result=b'"paid twice"'),
    c.Outcome(c.OutcomeKind.DONE, stored=False),
    c.Outcome(c.OutcomeKind.FAILED, failure=b'"refused"'),
    c.Outcome(c.OutcomeKind.FAILED),
    c.Outcome(c.OutcomeKind.IN_DOUBT, failure=b'"time-out"'),
)

a_policy = st.sampled_from([HARD, HARD, HARD, NONE, NONE, ASYNC, SOFT, SOFT, DENY])
a_process = st.sampled_from(PROCESSES)
a_person = st.sampled_from(PEOPLE)
a_note = st.sampled_from(["as I say", "as I say", ""])
sometimes = st.sampled_from([False, False, True])

rarely = st.integers(0, 19).map(lambda number: number == 19)
INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True)
class Proposal:
    """What an action begins with: its tool, its ruling, and what the record knows of its effect."""

    traits: Traits
    policy: InterruptPolicy
    profile: str
    known: dict[str, str]
    explained: bool


calls = st.builds(
    Proposal,
    traits=st.builds(
        Traits,
        reversibility=st.sampled_from(["irreversible", "irreversible", "compensable", "reversible", "read_only"]),
        idempotent=sometimes, probed=sometimes, composite=rarely, reach=st.just(("spends",)), tool_rev=st.just("rev1"),
    ),
    policy=a_policy,
    profile=st.sampled_from(["cautious", "cautious", "record"]),
    explained=rarely,
    known=st.sampled_from(
        [{}] * 7
        + [{"repeated": "no, before"}, {"duplicate": "ran before"}, {"nested": "inside"}, {"over_ticket": "too much"}]
    ),
)  # fmt: skip
questions = st.just(Traits("read_only", tool_rev="rev1", reach=("spends",), kind=ActionKind.QUESTION)).map(
    lambda traits: Proposal(traits, HARD, "cautious", explained=False, known={})
)
pauses = st.builds(
    lambda call, answers, policy: Proposal(
        replace(call.traits, kind=ActionKind.OBSERVED, answers=answers),
        policy, call.profile, call.known, call.explained,
    ),
    calls, st.sampled_from([(), (), ("approve", "reject"), ("respond",)]), st.sampled_from([HARD, HARD, DENY]),
)  # fmt: skip
proposals = st.one_of(calls, calls, calls, calls, questions, pauses)


# What may well happen next, often enough to be seen: an action that nobody moves teaches nothing.
NEXT = {
    "held": ("approved", "approved", "decided", "edited", "decided_at_the_edge", "lapsed", "gone_on"),
    "cleared": (
        "taken",
        "delivered",
        "taken",
        "taken",
        "taken_in_a_changed_world",
        "taken_with_a_preview",
        "taken_at_the_edge",
        "revoked",
        "superseded",
    ),
    "executing": ("reported", "lost", "lost", "given_back"),
    "in_doubt": (
        "taken",
        "taken_in_a_changed_world",
        "parked_on",
        "reported",
        "reconciled",
        "reconciled",
        "probed",
        "probed",
    ),
    "done": ("rolled_back", "reported", "another"),
    "rolling_back": ("rollback_ended", "lost"),
    "failed": ("tried_anew", "reported", "another"),
    "refused": ("tried_anew", "another", "another"),
    "rolled_back": ("another",),
    "rollback_failed": ("another",),
    "rollback_conflict": ("another",),
}
ANYTHING = (
    "approved", "decided", "lapsed", "revoked", "taken", "taken_in_a_changed_world", "reported", "lost", "parked_on",
    "taken_with_a_preview",
    "reconciled", "probed", "tried_anew", "rolled_back", "rollback_ended", "withdrawn", "superseded", "later",
    "gone_on", "given_back", "delivered",
)  # fmt: skip

Draw = Callable[[st.SearchStrategy[Any]], Any]


class LifecycleMachine(RuleBasedStateMachine):
    """One action, the model and the trace, moved together."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.numbers = count(1)

    def fresh(self, kind: str) -> str:
        return f"{kind}{next(self.numbers)}"

    def new_card(self) -> InterruptId:
        return InterruptId(self.fresh("card"))

    def card(self) -> Interrupt | None:
        return self.trace.cards[self.action.interrupt] if self.action.interrupt else None

    @initialize(proposal=proposals)
    def an_action_is_proposed(self, proposal: Proposal) -> None:
        self.propose(proposal)

    @rule(data=st.data(), out_of_place=sometimes)
    def something_happens(self, data: st.DataObject, out_of_place: bool) -> None:
        """One step, from what fits the state or (a third of the time) from everything there is."""
        step = data.draw(st.sampled_from(ANYTHING if out_of_place else NEXT[self.paper.state]), "it is")
        getattr(self, step)(data.draw)

    def propose(self, proposal: Proposal) -> None:
        draft = Action(
            id=ActionId("action"), run=RunId("run"), agent="billing", tool="pay", call_key=CallKey("call"), scope="",
            seq=1, state=S.CLEARED, revision=1, digest=Digest("digest1"), effect_hash=EffectHash("effect1"),
            traits=proposal.traits, ruling=ruling(proposal.policy, proposal.profile, explained=proposal.explained),
            proposed_at=START,
        )  # fmt: skip
        opening = Opening(self.new_card(), **proposal.known)
        self.trace, self.paper = Trace(), Paper(proposal.traits, proposal.policy.rank, proposal.explained)
        said = self.paper.begin(opening, proposal.profile, self.now)
        begun = begin(draft, opening, self.now)
        assert begin(draft, opening, self.now) == begun
        self.trace.watch(None, None, begun)
        self.compare(begun, said)
        self.action = begun.action

    def do(self, command: c.Command, said: Said) -> None:
        before, card = self.action, self.card()
        kept = (replace(before), replace(card) if card else None)
        if said.error:
            with pytest.raises(DecisionError) as refused:
                move(before, card, command, self.now)
            assert refused.value.code == said.error
            return
        after, again = move(before, card, command, self.now), move(before, card, command, self.now)
        assert (before, card) == kept, "what is handed in stays as it was"
        assert str(after.refusal) == str(again.refusal)
        assert replace(after, refusal=None) == replace(again, refusal=None), "the same question gets the same answer"
        self.trace.watch(before, command, after)
        self.action = after.action
        self.compare(after, said)

    def compare(self, after: Moved, said: Said) -> None:
        closed = "".join(card.ending.value for card in after.interrupts if card.ending is not None)
        opened = "".join(card.kind.value for card in after.interrupts if card.open)
        assert Said(
            facts=tuple(fact.type for fact in after.facts), opens=opened, closes=closed, claimed=after.claimed,
            refusal=after.refusal.code if after.refusal else "",
        ) == said  # fmt: skip

    @invariant()
    def the_action_is_what_the_model_says(self) -> None:
        action, paper = self.action, self.paper
        assert action.state.value == paper.state
        assert (action.refusal.value if action.refusal else "") == paper.refusal
        assert (action.fence, action.revision, action.retried) == (paper.fence, paper.revision, paper.retried)
        assert action.process == paper.holder
        assert due(action, self.card(), self.now) == paper.late(self.now)

    # -- one step: a command, and what the model says of it ----------------------------------------

    def another(self, draw: Draw) -> None:
        self.propose(draw(proposals))

    def approved(self, draw: Draw) -> None:
        self.decide(Verdict.APPROVE, draw(a_person), note=draw(a_note))

    def decided(self, draw: Draw) -> None:
        self.decide(draw(st.sampled_from(Verdict)), draw(a_person), note=draw(a_note))

    def edited(self, draw: Draw) -> None:
        self.decide(Verdict.MODIFY, draw(a_person), draw(st.sampled_from(InterruptPolicy)), draw(a_note))

    def decided_at_the_edge(self, draw: Draw) -> None:
        self.edge(draw)
        self.decided(draw)

    def decide(self, verdict: Verdict, by: str, revised: InterruptPolicy = HARD, note: str = "as I say") -> None:
        number = self.action.revision + 1
        edit = c.Revised(Digest(f"digest{number}"), EffectHash(f"effect{number}"), ruling(revised))
        command = c.Decide(verdict, by, DecisionId(self.fresh("decision")), note, edit, b'"my own"')
        self.do(command, self.paper.decide(verdict, revised, note, self.now))

    def lapsed(self, _: Draw) -> None:
        self.do(c.Expire(), self.paper.expire(self.now))

    def gone_on(self, draw: Draw) -> None:
        opened_at = self.now - draw(st.sampled_from([WINDOW, WINDOW, WINDOW - INSTANT, timedelta(0)]))
        self.do(c.Proceed(opened_at), self.paper.proceed(opened_at, self.now))

    def revoked(self, draw: Draw) -> None:
        self.do(c.Revoke(draw(a_person), self.new_card(), "wait"), self.paper.revoke(self.now))

    def withdrawn(self, draw: Draw) -> None:
        said = self.paper.leave_behind("withdrawn", E.ACTION_WITHDRAWN, self.now)
        self.do(c.Withdraw(draw(a_person), "cancelled"), said)

    def superseded(self, _: Draw) -> None:
        self.do(c.Supersede("moved on"), self.paper.leave_behind("superseded", E.ACTION_SUPERSEDED, self.now))

    def taken(self, draw: Draw) -> None:
        self.take(draw(a_process), self.paper.rev, ("spends",), self.action.ruling)

    def taken_at_the_edge(self, draw: Draw) -> None:
        self.edge(draw)
        self.taken(draw)

    def taken_in_a_changed_world(self, draw: Draw) -> None:
        policy = draw(st.none() | st.sampled_from(InterruptPolicy))
        self.take(
            draw(a_process), draw(st.sampled_from(["rev1", "rev2", "rev3"])),
            draw(st.sampled_from([("spends",)] * 4 + [("privilege", "spends")])),
            self.action.ruling if policy is None else ruling(policy), fit=draw(st.integers(0, 4)) != 4,
            over=draw(st.sampled_from(["", "", "", "its time is up"])),
        )  # fmt: skip

    def taken_with_a_preview(self, draw: Draw) -> None:
        previews = {"preview": draw(st.sampled_from(PREVIEWS)), "shown": draw(st.sampled_from(PREVIEWS))}
        self.take(draw(a_process), self.paper.rev, ("spends",), self.action.ruling, **previews)

    def take(
        self, process: ProcessId, rev: str, reach: tuple[str, ...], now: Ruling, *, fit: bool = True, over: str = "",
        **previews: Any,
    ) -> None:  # fmt: skip
        command = c.Take(process, rev, reach, now, self.new_card(), arguments_fit=fit, over_ticket=over, **previews)
        self.do(command, self.paper.take(command, self.now))

    def reported(self, draw: Draw) -> None:
        fence, outcome = self.action.fence - draw(st.sampled_from([0, 0, 0, 1, -1])), draw(st.sampled_from(OUTCOMES))
        self.do(c.Settle(fence, outcome, self.new_card()), self.paper.settle(fence, outcome))

    def delivered(self, _: Draw) -> None:
        self.do(c.Deliver(), self.paper.deliver(self.now))

    def given_back(self, draw: Draw) -> None:
        fence = self.action.fence - draw(st.sampled_from([0, 0, 1]))
        self.do(c.GiveBack(fence), self.paper.give_back(fence))

    def lost(self, draw: Draw) -> None:
        process = draw(st.none() | a_process) or ProcessId(self.paper.holder or "")
        self.do(c.LoseLease(process, self.new_card()), self.paper.lose(process))

    def parked_on(self, _: Draw) -> None:
        self.do(c.AskPeople(self.new_card(), "it is not known whether it happened"), self.paper.ask_people())

    def reconciled(self, draw: Draw) -> None:
        verdict = draw(st.sampled_from([*Verdict, *[Verdict.RUN_AGAIN] * 4]))
        command = c.Reconcile(
            verdict,
            draw(a_person),
            DecisionId(self.fresh("decision")),
            b'"found"',
            failure=b'"found out"',
            note="I looked",
        )
        self.do(command, self.paper.reconcile(verdict, True, self.now))

    def probed(self, draw: Draw) -> None:
        verdict = draw(st.sampled_from([Verdict.RUN_AGAIN, Verdict.RUN_AGAIN, Verdict.RUN_AGAIN, Verdict.FOUND_DONE]))
        self.do(c.Reconcile(verdict, "probe", result=b'"found"'), self.paper.reconcile(verdict, False, self.now))

    def tried_anew(self, _: Draw) -> None:
        self.do(c.TryAnew(), self.paper.try_anew())

    def rolled_back(self, draw: Draw) -> None:
        process = draw(a_process)
        self.do(c.StartRollback(draw(a_person), process), self.paper.start_rollback(process))

    def rollback_ended(self, draw: Draw) -> None:
        fence, came_to = (
            self.action.fence - draw(st.sampled_from([0, 0, 1])),
            draw(st.sampled_from(["done", "failed", "conflict"])),
        )
        self.do(c.EndRollback(fence, came_to, "so it went"), self.paper.end_rollback(fence, came_to))

    def later(self, draw: Draw) -> None:
        self.now += draw(st.sampled_from([INSTANT, timedelta(minutes=1), GOOD_FOR, OPEN_FOR]))

    def edge(self, draw: Draw) -> None:
        """Time comes to where a card or a yes is just, or just not, too old."""
        edge = self.paper.deadline if self.paper.card else self.paper.yes_at and self.paper.yes_at + GOOD_FOR
        if edge is not None:
            self.now = max(self.now, edge + draw(st.sampled_from([-INSTANT, timedelta(0), INSTANT])))


# Finding the shortest way to a broken law takes longer than the usual limit.
TestLifecycle: Any = pytest.mark.timeout(900)(LifecycleMachine.TestCase)
TestLifecycle.settings = settings(max_examples=200, stateful_step_count=60)
