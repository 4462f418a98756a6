"""Every command in every state: what comes of it. Then the details that a table does not show."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from interlock.domain import commands as c
from interlock.domain.action import Action, ActionKind, ActionState, CallKey, Preview, RefusalKind, Traits
from interlock.domain.decision import Verdict
from interlock.domain.errors import DecisionError
from interlock.domain.events import EventType
from interlock.domain.ids import ActionId, DecisionId, Digest, EffectHash, InterruptId, ProcessId, RunId
from interlock.domain.interrupt import Ending, Interrupt, InterruptKind
from interlock.domain.lifecycle import MAX_TRIES, Moved, Opening, begin, due, may_rerun, move, reconcile_document
from interlock.domain.moves import clock
from interlock.domain.ruling import Reason, Ruling
from interlock.domain.tool import InterruptPolicy

S, E = ActionState, EventType
NONE, ASYNC, SOFT, HARD, DENY = InterruptPolicy

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ANA = "reviewer:ana"
P1, P2 = ProcessId("p1"), ProcessId("p2")
NEW = InterruptId("new card")

PAID = c.Outcome(c.OutcomeKind.DONE, result=b'"paid"')
DECLINED = c.Outcome(c.OutcomeKind.FAILED, failure=b'"declined"')
UNKNOWN = c.Outcome(c.OutcomeKind.IN_DOUBT, failure=b'"time-out"')

T = TypeVar("T")


def ruling(policy: InterruptPolicy = HARD, *words: str, profile: str = "cautious") -> Ruling:
    reasons = tuple(Reason("because", said) for said in words or ("it cannot be undone",))
    return Ruling(
        policy, policy, reasons, profile, policy_digest="sha-256:policy", expires_in=4 * HOUR, approval_valid_for=HOUR,
        window=10 * MINUTE if policy is SOFT else None,
    )  # fmt: skip


def draft(policy: InterruptPolicy = HARD, *, profile: str = "cautious", **traits: Any) -> Action:
    kept = {"reversibility": "irreversible", "reach": ("spends",), "tool_rev": "rev1"} | traits
    return Action(
        id=ActionId("action"), run=RunId("run"), agent="billing", tool="pay", call_key=CallKey("call"), scope="", seq=1,
        state=S.CLEARED, revision=1, digest=Digest("digest1"), effect_hash=EffectHash("effect1"), traits=Traits(**kept),
        ruling=ruling(policy, profile=profile), proposed_at=NOON,
    )  # fmt: skip


def take(**changed: Any) -> c.Take:
    usual = {"process": P1, "tool_rev": "rev1", "reach": ("spends",), "ruling_now": ruling(NONE), "new_interrupt": NEW}
    return c.Take(**(usual | changed))


def decide(verdict: Verdict, policy: InterruptPolicy = HARD, **more: Any) -> c.Decide:
    revised = c.Revised(Digest("digest2"), EffectHash("effect2"), ruling(policy))
    usual = {"by": ANA, "decision": DecisionId("decision"), "revised": revised, "result": b'"my own"'}
    return c.Decide(verdict, **(usual | more))


def reconcile(verdict: Verdict, **more: Any) -> c.Reconcile:
    return c.Reconcile(verdict, **({"by": ANA, "decision": DecisionId("what happened"), "result": b'"paid"'} | more))


@dataclass(frozen=True)
class Standing:
    """An action with its card, at a moment: where a command meets it."""

    action: Action
    card: Interrupt | None
    now: datetime = NOON

    def then(self, command: c.Command, after: timedelta = MINUTE) -> "Standing":
        now = self.now + after
        moved = move(self.action, self.card, command, now)
        cards = {card.id: card for card in (self.card, *moved.interrupts) if card is not None}
        return Standing(moved.action, cards[moved.action.interrupt] if moved.action.interrupt else None, now)

    def later(self, after: timedelta) -> "Standing":
        return replace(self, now=self.now + after)


def begun(policy: InterruptPolicy = HARD, **traits: Any) -> Standing:
    moved = begin(draft(policy, **traits), Opening(InterruptId("card")), NOON)
    return Standing(moved.action, moved.interrupts[0] if moved.interrupts else None)


APPROVE, LOSE, LOOK = decide(Verdict.APPROVE), c.LoseLease(P1, NEW), c.AskPeople(NEW, "nobody knows")

held = begun()
approved = held.then(APPROVE)
executing = approved.then(take())
done = executing.then(c.Settle(1, PAID, NEW))
failed = executing.then(c.Settle(1, DECLINED, NEW))
doubted = executing.then(LOSE)
softly = begun(SOFT)
unexplained = replace(held, action=replace(held.action, ruling=replace(held.action.ruling, reason_required=True)))
rolling_back = done.then(c.StartRollback(ANA, P1))

STANDINGS = {
    "held": held,
    "held too long": held.later(4 * HOUR),
    "held softly": softly,
    "held, a reason is wanted": unexplained,
    "let go by silence": softly.then(c.Proceed(NOON), after=10 * MINUTE),
    "cleared by policy": begun(NONE, reversibility="compensable"),
    "approved": approved,
    "approved long ago": approved.later(HOUR + MINUTE),
    "to run again": doubted.then(reconcile(Verdict.RUN_AGAIN)),
    "executing": executing,
    "entered": begun(composite=True).then(APPROVE).then(take()),
    "done": done,
    "answered": held.then(decide(Verdict.RESPOND)),
    "failed": failed,
    "in doubt": doubted,
    "in doubt, may rerun": begun(NONE, idempotent=True).then(take()).then(LOSE),
    "in doubt, has a probe": begun(NONE, probed=True).then(take()).then(LOSE),
    "rejected": held.then(decide(Verdict.REJECT)),
    "expired": held.then(c.Expire(), after=4 * HOUR),
    "rolling back": rolling_back,
    "rolled back": rolling_back.then(c.EndRollback(2, "done")),
    "rollback failed": rolling_back.then(c.EndRollback(2, "failed")),
    "rollback conflict": rolling_back.then(c.EndRollback(2, "conflict")),
}
ALL = tuple(STANDINGS)


@dataclass(frozen=True)
class To:
    """The state that the action comes to, the facts that tell of it, what closes and opens, what the asker is told."""

    state: ActionState
    facts: tuple[EventType, ...] = ()
    closes: Ending | None = None
    opens: InterruptKind | None = None
    claimed: bool = False
    told: str = ""


def to(state: ActionState, *facts: EventType, **more: Any) -> To:
    return To(state, facts, **more)


@dataclass(frozen=True)
class No:
    """The command is refused, with this code, and leaves no trace."""

    code: str


STAYS = "stays as it is"
Result = To | No | str

WANTS_A_REASON = "held, a reason is wanted"
HELD = ("held", "held softly", WANTS_A_REASON)
CARD, RECONCILE = InterruptKind.ACTION, InterruptKind.RECONCILE
DOUBTS = ("in doubt", "in doubt, may rerun", "in doubt, has a probe")
WITHOUT_CARD = ("in doubt, may rerun", "in doubt, has a probe")
EXPIRES = to(S.REFUSED, E.INTERRUPT_EXPIRED, closes=Ending.EXPIRED)
TOO_LATE = replace(EXPIRES, told="expired")


def conflict(name: str) -> To:
    return to(STANDINGS[name].action.state, E.OUTCOME_CONFLICTED)


def rest(listed: dict[str, Result], result: Result | Callable[[str], Result]) -> dict[str, Result]:
    """What is listed, and the same result for every state that is not."""
    return {name: listed[name] if name in listed else result(name) if callable(result) else result for name in ALL}


def late_outcome(state: ActionState) -> dict[str, Result]:
    settled = to(state, E.LATE_OUTCOME_RECORDED)
    return {"in doubt": replace(settled, closes=Ending.SETTLED), **dict.fromkeys(WITHOUT_CARD, settled)}


def found(state: ActionState) -> dict[str, Result]:
    settled = to(state, E.ACTION_RECONCILED, closes=Ending.RECONCILED)
    return rest({"in doubt": settled, **dict.fromkeys(WITHOUT_CARD, No("not_open"))}, No("not_in_doubt"))


def probed(state: ActionState) -> dict[str, Result]:
    settled = to(state, E.ACTION_RECONCILED)
    closing = replace(settled, closes=Ending.RECONCILED)
    return rest({"in doubt": closing, **dict.fromkeys(WITHOUT_CARD, settled)}, No("not_in_doubt"))


def left_behind(fact: EventType, ending: Ending) -> dict[str, Result]:
    gone = to(S.REFUSED, fact)
    held = dict.fromkeys(HELD, replace(gone, closes=ending))
    cleared = dict.fromkeys(("let go by silence", "cleared by policy", "approved", "approved long ago"), gone)
    again = to(S.IN_DOUBT, E.ACTION_IN_DOUBT)
    return rest({**held, "held too long": EXPIRES, **cleared, "to run again": again}, STAYS)


CLAIMABLE = ("let go by silence", "cleared by policy", "approved", "to run again", "in doubt, may rerun")
CLAIMS = to(S.EXECUTING, E.ACTION_CLAIMED, claimed=True)
ASKED = to(S.IN_DOUBT, E.RECONCILE_OPENED, opens=RECONCILE)
DOUBT = to(S.IN_DOUBT, E.ACTION_IN_DOUBT, E.RECONCILE_OPENED, opens=RECONCILE)
ROLLED_BACK = {
    "done": to(S.ROLLED_BACK, E.ROLLBACK_DONE),
    "failed": to(S.ROLLBACK_FAILED, E.ROLLBACK_FAILED),
    "conflict": to(S.ROLLBACK_CONFLICT, E.ROLLBACK_CONFLICTED),
}


def decided(state: ActionState, ending: Ending) -> dict[str, Result]:
    said = to(state, E.DECISION_RECORDED, closes=ending)
    return rest({**dict.fromkeys(HELD, said), "held too long": TOO_LATE}, No("not_open"))


def allowed(ending: Ending) -> dict[str, Result]:
    return decided(S.CLEARED, ending) | {WANTS_A_REASON: No("reason_missing")}


# For every command: what comes of it in every state. `rest` names every state, so that none is forgotten.
TABLE: dict[str, tuple[Callable[[Action], c.Command], dict[str, Result]]] = {
    "a person approves": (lambda _: APPROVE, allowed(Ending.APPROVED)),
    "a person modifies": (lambda _: decide(Verdict.MODIFY), allowed(Ending.MODIFIED)),
    "a person approves and says why": (
        lambda _: decide(Verdict.APPROVE, note="the customer called"),
        decided(S.CLEARED, Ending.APPROVED),
    ),
    "a person modifies and says why": (
        lambda _: decide(Verdict.MODIFY, note="half of it"),
        decided(S.CLEARED, Ending.MODIFIED),
    ),
    "a person approves and says nothing but spaces": (
        lambda _: decide(Verdict.APPROVE, note="  "),
        allowed(Ending.APPROVED),
    ),
    "a person modifies it to what policy denies": (
        lambda _: decide(Verdict.MODIFY, DENY),
        rest(
            {**dict.fromkeys(HELD, No("edit_denied")), WANTS_A_REASON: No("reason_missing"), "held too long": TOO_LATE},
            No("not_open"),
        ),
    ),
    "a person rejects": (
        lambda _: decide(Verdict.REJECT),
        decided(S.REFUSED, Ending.REJECTED)
        | {"held too long": replace(EXPIRES, facts=(E.INTERRUPT_EXPIRED, E.LATE_REJECTION_RECORDED))},
    ),
    "a person responds": (lambda _: decide(Verdict.RESPOND), decided(S.DONE, Ending.RESPONDED)),
    "a person redirects": (lambda _: decide(Verdict.REDIRECT), decided(S.REFUSED, Ending.REDIRECTED)),
    "a person answers what is not asked": (
        lambda _: decide(Verdict.FOUND_DONE),
        rest({**dict.fromkeys(HELD, No("bad_verdict")), "held too long": TOO_LATE}, No("not_open")),
    ),
    "the deadline is looked at": (lambda _: c.Expire(), rest({"held too long": EXPIRES}, STAYS)),
    "an approval is taken back": (
        lambda _: c.Revoke(ANA, NEW),
        rest(
            {
                "approved": to(S.HELD, E.APPROVAL_REVOKED, opens=CARD),
                "approved long ago": to(S.HELD, E.APPROVAL_REVOKED, opens=CARD),
                "to run again": to(S.IN_DOUBT, E.APPROVAL_REVOKED, E.RECONCILE_OPENED, opens=RECONCILE),
                **dict.fromkeys(("executing", "entered", "done", "answered"), No("already_claimed")),
            },
            No("not_approved"),
        ),
    ),
    "it is withdrawn": (lambda _: c.Withdraw(ANA, "cancelled"), left_behind(E.ACTION_WITHDRAWN, Ending.WITHDRAWN)),
    "the thread moves on": (lambda _: c.Supersede("moved on"), left_behind(E.ACTION_SUPERSEDED, Ending.SUPERSEDED)),
    "an executor asks for the claim": (
        lambda _: take(),
        rest(
            {
                "held too long": EXPIRES,
                **dict.fromkeys(CLAIMABLE, CLAIMS),
                "approved long ago": to(S.HELD, E.ACTION_HELD_AGAIN, opens=CARD),
                "entered": to(S.EXECUTING, claimed=True),
            },
            STAYS,
        ),
    ),
    "an executor asks for the claim, and it would do something else": (
        lambda _: take(preview=Preview("4 rows"), shown=Preview("3 rows")),
        rest(
            {
                "held too long": EXPIRES,
                **dict.fromkeys(CLAIMABLE, to(S.HELD, E.ACTION_HELD_AGAIN, opens=CARD)),
                **dict.fromkeys(("to run again", "in doubt, may rerun"), CLAIMS),
                "approved long ago": to(S.HELD, E.ACTION_HELD_AGAIN, opens=CARD),
                "entered": to(S.EXECUTING, claimed=True),
            },
            STAYS,
        ),
    ),
    "the claim is given back": (
        lambda action: c.GiveBack(action.fence),
        rest({"executing": to(S.CLEARED, E.ACTION_GIVEN_BACK), "entered": to(S.EXECUTING)}, STAYS),
    ),
    "another claim is given back": (lambda action: c.GiveBack(action.fence - 1), rest({}, STAYS)),
    "the answer is handed over": (
        lambda _: c.Deliver(),
        rest({"held too long": EXPIRES}, STAYS),
    ),
    "silence has lasted": (
        lambda _: c.Proceed(NOON - HOUR),
        rest(
            {
                "held softly": to(S.CLEARED, E.SILENCE_PROCEEDED, closes=Ending.PROCEEDED),
                "held too long": EXPIRES,
            },
            STAYS,
        ),
    ),
    "silence has not lasted yet": (lambda _: c.Proceed(NOON + 100 * HOUR), rest({"held too long": EXPIRES}, STAYS)),
    "it is reported done": (
        lambda action: c.Settle(action.fence, PAID, NEW),
        rest(
            {
                **dict.fromkeys(("executing", "entered"), to(S.DONE, E.ACTION_DONE)),
                "done": STAYS,
                "to run again": to(S.DONE, E.LATE_OUTCOME_RECORDED),
                **late_outcome(S.DONE),
            },
            conflict,
        ),
    ),
    "it is reported failed": (
        lambda action: c.Settle(action.fence, DECLINED, NEW),
        rest(
            {
                **dict.fromkeys(("executing", "entered"), to(S.FAILED, E.ACTION_FAILED)),
                "failed": STAYS,
                **late_outcome(S.FAILED),
            },
            conflict,
        ),
    ),
    "it is reported in doubt": (
        lambda action: c.Settle(action.fence, UNKNOWN, NEW),
        rest(dict.fromkeys(("executing", "entered"), DOUBT), STAYS),
    ),
    "another claim of it is reported done": (lambda action: c.Settle(action.fence - 1, PAID, NEW), rest({}, conflict)),
    "another claim of it is reported in doubt": (
        lambda action: c.Settle(action.fence - 1, UNKNOWN, NEW),
        rest({}, STAYS),
    ),
    "its executor is gone": (
        lambda _: LOSE,
        rest(
            {
                "executing": DOUBT,
                "entered": to(S.EXECUTING),
                "rolling back": to(S.ROLLBACK_FAILED, E.ROLLBACK_FAILED),
            },
            STAYS,
        ),
    ),
    "another executor is gone": (lambda _: c.LoseLease(P2, NEW), rest({}, STAYS)),
    "people are to be asked": (lambda _: LOOK, rest(dict.fromkeys(WITHOUT_CARD, ASKED), STAYS)),
    "a person found that it happened": (lambda _: reconcile(Verdict.FOUND_DONE), found(S.DONE)),
    "a person found that it did not happen": (lambda _: reconcile(Verdict.FOUND_FAILED), found(S.FAILED)),
    "a person lets it run again": (lambda _: reconcile(Verdict.RUN_AGAIN), found(S.CLEARED)),
    "a person decides where it is to be reconciled": (
        lambda _: reconcile(Verdict.APPROVE),
        rest(dict.fromkeys(DOUBTS, No("bad_verdict")), No("not_in_doubt")),
    ),
    "a probe found that it happened": (
        lambda _: reconcile(Verdict.FOUND_DONE, by="probe", decision=None),
        probed(S.DONE),
    ),
    "a probe found that it did not happen": (
        lambda _: reconcile(Verdict.RUN_AGAIN, by="probe", decision=None),
        probed(S.CLEARED),
    ),
    "the run is tried anew": (
        lambda _: c.TryAnew(),
        rest({"failed": to(S.FAILED, E.ACTION_RETRIED), "expired": to(S.REFUSED, E.ACTION_RETRIED)}, STAYS),
    ),
    "a rollback starts": (
        lambda _: c.StartRollback(ANA, P1),
        rest({"done": to(S.ROLLING_BACK, E.ROLLBACK_STARTED, claimed=True)}, No("not_done")),
    ),
    **{
        f"a rollback ends: {came_to}": (
            lambda action, came_to=came_to: c.EndRollback(action.fence, came_to, "so it went"),
            rest({"rolling back": result}, STAYS),
        )
        for came_to, result in ROLLED_BACK.items()
    },
    "another rollback ends": (lambda action: c.EndRollback(action.fence - 1, "done"), rest({}, STAYS)),
}


def test_the_table_lists_every_command_in_every_state() -> None:
    assert {standing.action.state for standing in STANDINGS.values()} == set(S)
    commands = {type(make(held.action)) for make, _ in TABLE.values()}
    assert commands == set(c.Command.__args__)
    assert all(tuple(results) == ALL for _, results in TABLE.values())


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("command", TABLE)
def test_what_comes_of_a_command(command: str, name: str) -> None:
    make, results = TABLE[command]
    standing, expected = STANDINGS[name], results[name]
    asked = make(standing.action)
    if isinstance(expected, No):
        with pytest.raises(DecisionError) as caught:
            move(standing.action, standing.card, asked, standing.now)
        assert caught.value.code == expected.code
        return
    moved = move(standing.action, standing.card, asked, standing.now)
    if expected == STAYS:
        assert moved == Moved(standing.action)
        return
    closed = [card.ending for card in moved.interrupts if not card.open]
    opened = [card.kind for card in moved.interrupts if card.open]
    assert len(closed) <= 1
    assert len(opened) <= 1
    assert expected == To(
        moved.action.state,
        tuple(fact.type for fact in moved.facts),
        closed[0] if closed else None,
        opened[0] if opened else None,
        moved.claimed,
        moved.refusal.code if moved.refusal else "",
    )


# ------------------------------------------------------------------------------------------ how it begins


@pytest.mark.parametrize("policy", [NONE, ASYNC])
def test_where_nobody_is_asked_it_is_cleared_at_once_and_no_person_is_named(policy: InterruptPolicy) -> None:
    moved = begin(draft(policy), Opening(NEW), NOON)
    assert moved.action.state is S.CLEARED
    assert (moved.action.cleared_at, moved.action.cleared_by, moved.interrupts) == (NOON, None, ())
    assert [fact.type for fact in moved.facts] == [E.ACTION_CLEARED]


@pytest.mark.parametrize("policy", [SOFT, HARD])
def test_where_people_are_asked_a_card_opens_that_shows_this_revision_and_why(policy: InterruptPolicy) -> None:
    moved = begin(replace(draft(), ruling=ruling(policy, "it costs 250", "it cannot be undone")), Opening(NEW), NOON)
    (card,) = moved.interrupts
    assert (card.id, card.kind, card.revision, card.digest) == (NEW, CARD, 1, "digest1")
    assert (card.opened_at, card.expires_at) == (NOON, NOON + 4 * HOUR)
    assert card.why == "it costs 250; it cannot be undone"
    assert moved.action.interrupt == NEW
    assert moved.facts[0].interrupt == NEW


def test_what_policy_denies_is_refused_in_the_words_of_its_reasons() -> None:
    moved = begin(replace(draft(), ruling=ruling(DENY, "never in production")), Opening(NEW), NOON)
    assert (moved.action.refusal, moved.action.words) == (RefusalKind.DENIED, "never in production")
    assert moved.action.refused_by == "policy"
    assert not moved.interrupts


def test_what_was_turned_down_before_is_refused_without_asking_whatever_the_ruling() -> None:
    for policy in InterruptPolicy:
        moved = begin(draft(policy), Opening(NEW, repeated="ana said no before"), NOON)
        assert (moved.action.refusal, moved.action.words) == (RefusalKind.REPEATED, "ana said no before")
        assert not moved.interrupts


def test_a_suspected_duplicate_is_held_even_where_nobody_would_be_asked() -> None:
    moved = begin(draft(NONE), Opening(NEW, duplicate="identical to one that ran 8 s ago"), NOON)
    assert moved.action.state is S.HELD
    assert moved.interrupts[0].why.startswith("identical to one that ran 8 s ago")
    assert moved.action.ruling.policy is HARD
    assert moved.action.ruling.reasons[0].code == "suspected_duplicate"
    assert moved.facts[0].body["ruling"]["policy"] == "hard_stop"


def test_a_suspected_duplicate_does_not_soften_a_denial() -> None:
    moved = begin(draft(DENY), Opening(NEW, duplicate="identical"), NOON)
    assert moved.action.refusal is RefusalKind.DENIED


def test_record_holds_no_duplicate() -> None:
    assert begin(draft(NONE, profile="record"), Opening(NEW, duplicate="identical"), NOON).action.state is S.CLEARED


def test_what_would_pause_inside_what_cannot_pause_is_refused_and_what_flows_goes_on() -> None:
    inside = Opening(NEW, nested="pay would pause inside pay_all")
    refused = begin(draft(HARD), inside, NOON).action
    assert (refused.refusal, refused.words) == (RefusalKind.NESTED_PAUSE, "pay would pause inside pay_all")
    assert begin(draft(NONE), inside, NOON).action.state is S.CLEARED


def test_the_first_fact_tells_the_digest_the_tool_and_the_ruling() -> None:
    asked = replace(ruling(HARD), wanted=SOFT, rules=("no refunds",))
    (fact,) = begin(replace(draft(), ruling=asked), Opening(NEW), NOON).facts
    assert fact.body["digest"] == "digest1"
    assert fact.body["tool"] == "pay"
    assert fact.body["ruling"] == {
        "policy": "hard_stop", "wanted": "soft_checkpoint", "profile": "cautious", "reasons": ["because"],
        "policy_digest": "sha-256:policy", "rules": ["no refunds"],
    }  # fmt: skip
    plain = begin(replace(draft(), ruling=replace(ruling(), policy_digest="")), Opening(NEW), NOON).facts[0].body
    assert plain["ruling"] == {"policy": "hard_stop", "profile": "cautious", "reasons": ["because"]}


# ------------------------------------------------------------------------------------------ deciding


def test_an_approval_names_the_decision_and_its_time() -> None:
    assert (approved.action.cleared_by, approved.action.cleared_at) == ("decision", NOON + MINUTE)
    assert approved.card is not None
    assert (approved.card.ending, approved.card.decision) == (Ending.APPROVED, "decision")


def test_the_fact_of_a_decision_says_who_what_on_which_digest_and_the_note() -> None:
    fact = move(held.action, held.card, decide(Verdict.APPROVE, note="fine"), NOON).facts[0]
    assert (fact.actor, fact.interrupt) == (ANA, "card")
    assert fact.body == {"decision": "decision", "verdict": "approve", "digest": "digest1", "note": "fine"}
    assert "note" not in move(held.action, held.card, APPROVE, NOON).facts[0].body


def test_a_modification_makes_the_next_revision_of_the_same_action() -> None:
    moved = move(held.action, held.card, decide(Verdict.MODIFY, ASYNC), NOON)
    action, body = moved.action, moved.facts[0].body
    assert (action.id, action.call_key, action.revision) == (held.action.id, held.action.call_key, 2)
    assert (action.digest, action.effect_hash, action.ruling.policy) == ("digest2", "effect2", ASYNC)
    assert (body["digest"], body["new_digest"], body["new_revision"]) == ("digest1", "digest2", 2)


def test_a_modification_needs_the_new_revision_and_a_response_a_result() -> None:
    for command in (decide(Verdict.MODIFY, revised=None), decide(Verdict.RESPOND, result=None)):
        with pytest.raises(DecisionError) as caught:
            move(held.action, held.card, command, NOON)
        assert caught.value.code == "bad_verdict"


def test_a_response_stands_in_for_the_result_without_any_execution() -> None:
    action = STANDINGS["answered"].action
    assert (action.result, action.stored, action.answered_by) == (b'"my own"', True, ANA)
    assert (action.fence, action.tries) == (0, 0)


@pytest.mark.parametrize(("verdict", "kind"), [(Verdict.REJECT, "rejected"), (Verdict.REDIRECT, "redirected")])
def test_a_refusal_keeps_the_reviewer_s_words_and_name(verdict: Verdict, kind: str) -> None:
    action = move(held.action, held.card, decide(verdict, note="too much"), NOON).action
    assert (action.refusal, action.words, action.refused_by) == (kind, "too much", ANA)


def test_a_card_is_open_until_its_deadline_and_not_at_it() -> None:
    assert held.card is not None
    edge = NOON + 4 * HOUR
    assert not due(held.action, held.card, edge - timedelta(microseconds=1))
    assert due(held.action, held.card, edge)
    assert not due(held.action, None, edge)
    assert not due(held.action, replace(held.card, expires_at=None), edge)
    assert not due(approved.action, approved.card, edge)


def test_what_expired_names_nobody_whoever_came_too_late() -> None:
    for verdict in list(Verdict)[:5]:
        moved = move(held.action, held.card, decide(verdict), NOON + 4 * HOUR)
        assert (moved.action.refusal, moved.action.refused_by) == (RefusalKind.EXPIRED, "")
        assert moved.facts[0].actor == ""
        assert moved.interrupts[0].decision is None


def test_whoever_comes_too_late_is_told_when_the_card_expired() -> None:
    refusal = move(held.action, held.card, APPROVE, NOON + 5 * HOUR).refusal
    assert "expired at 2026-03-01 16:00 UTC; nothing was run" in str(refusal)
    assert clock(None) == "?"


def test_a_card_that_is_gone_cannot_be_decided() -> None:
    with pytest.raises(DecisionError):
        move(held.action, None, APPROVE, NOON)


# ------------------------------------------------------------------------------------------ taking back


def test_a_revoked_approval_opens_a_new_card_linked_to_the_old_one() -> None:
    moved = move(approved.action, approved.card, c.Revoke(ANA, NEW, "wait"), NOON)
    (card,) = moved.interrupts
    assert (card.id, card.previous, card.why) == (NEW, "card", f"approval taken back by {ANA}: wait")
    assert (moved.action.cleared_by, moved.action.cleared_at) == (None, None)
    assert moved.facts[0].actor == ANA


def test_a_modification_can_be_taken_back_too_and_its_revision_stays() -> None:
    modified = held.then(decide(Verdict.MODIFY))
    (card,) = move(modified.action, modified.card, c.Revoke(ANA, NEW), NOON).interrupts
    assert (card.revision, card.digest) == (2, "digest2")


def test_a_withdrawal_names_who_and_why_and_what_is_superseded_names_nobody() -> None:
    withdrawn = move(held.action, held.card, c.Withdraw("agent:billing", "cancelled"), NOON).action
    assert (withdrawn.refusal, withdrawn.refused_by, withdrawn.words) == ("withdrawn", "agent:billing", "cancelled")
    superseded = move(held.action, held.card, c.Supersede("moved on"), NOON)
    assert (superseded.action.refusal, superseded.action.refused_by) == ("superseded", "")
    assert superseded.facts[0].actor == ""


# ------------------------------------------------------------------------------------------ the claim


def test_a_claim_takes_the_next_fence_for_one_process_and_commits_to_the_digest() -> None:
    moved = move(approved.action, approved.card, take(), NOON)
    action = moved.action
    assert (action.fence, action.tries, action.process, action.claimed_at) == (1, 1, P1, NOON)
    assert moved.facts[0].body == {"fence": 1, "digest": "digest1"}


def test_an_approval_is_good_until_its_age_and_not_a_moment_longer() -> None:
    edge = NOON + MINUTE + HOUR
    assert move(approved.action, approved.card, take(), edge).claimed
    late = move(approved.action, approved.card, take(), edge + timedelta(microseconds=1))
    assert not late.claimed
    (card,) = late.interrupts
    assert card.previous == "card"
    assert card.why == "approved at 2026-03-01 12:01 UTC, did not run within 1 hour"


def test_an_approval_that_is_too_old_names_who_gave_it() -> None:
    late = move(approved.action, approved.card, take(approved_by="ana"), NOON + 2 * HOUR)
    assert late.interrupts[0].why == "approved by ana at 2026-03-01 12:01 UTC, did not run within 1 hour"


def test_another_preview_than_the_approved_one_is_shown_on_a_card_of_its_own() -> None:
    moved = move(approved.action, approved.card, take(preview=Preview("4 rows"), shown=Preview("3 rows")), NOON)
    (card,) = moved.interrupts
    assert card.why == "what it would do has changed since it was approved"
    assert (card.previous, card.revision) == ("card", 1)
    assert card.document is not None
    document = json.loads(card.document)
    assert (document["digest"], document["preview"]) == ("digest1", "4 rows")
    assert Preview.kept(document) == Preview("4 rows")
    assert card.digest != moved.action.digest
    assert moved.facts[0].body["digest"] == card.digest
    # Taken back, or too old, it is asked about what was shown last.
    revoked = Standing(moved.action, card, NOON).then(APPROVE).then(c.Revoke(ANA, NEW))
    assert revoked.card is not None
    assert (revoked.card.document, revoked.card.digest) == (card.document, card.digest)


def test_an_approval_taken_back_after_an_edit_shows_no_preview_of_before() -> None:
    moved = move(approved.action, approved.card, take(preview=Preview("4 rows"), shown=Preview("3 rows")), NOON)
    edited = Standing(moved.action, moved.interrupts[0], NOON).then(decide(Verdict.MODIFY)).then(c.Revoke(ANA, NEW))
    assert edited.card is not None
    assert (edited.card.document, edited.card.digest) == (None, "digest2")


def test_a_preview_that_cannot_be_made_any_more_is_asked_about() -> None:
    failed = Preview(failed="ValueError: no rows")
    moved = move(approved.action, approved.card, take(preview=failed, shown=Preview("3 rows")), NOON)
    (card,) = moved.interrupts
    assert card.why == "what it would do cannot be shown any more: ValueError: no rows"
    assert card.document is not None
    assert Preview.kept(json.loads(card.document)) == failed


@pytest.mark.parametrize(
    ("now", "shown"),
    [
        (Preview("3 rows"), Preview("3 rows")),
        (Preview("3 rows"), None),
        (None, Preview("3 rows")),
        (Preview(failed="one way"), Preview(failed="another way")),
    ],
)
def test_the_same_preview_or_none_to_compare_lets_it_run(now: Preview | None, shown: Preview | None) -> None:
    assert move(approved.action, approved.card, take(preview=now, shown=shown), NOON).claimed


def test_a_preview_is_kept_as_text_or_as_why_there_is_none() -> None:
    for preview in (Preview("3 rows"), Preview(""), Preview(failed="ValueError")):
        assert Preview.kept(preview.facts()) == preview
    assert Preview.kept({}) is None


def test_a_reconcile_card_names_the_card_before_it() -> None:
    assert doubted.card is not None
    assert doubted.card.previous == "card"
    asked = STANDINGS["in doubt, has a probe"].then(c.AskPeople(NEW, "nobody knows", InterruptId("before")))
    assert asked.card is not None
    assert asked.card.previous == "before"
    again = STANDINGS["to run again"].then(take()).then(LOSE)
    assert again.card is not None
    assert again.card.previous is not None


def test_what_nobody_had_to_approve_does_not_age() -> None:
    standing = STANDINGS["cleared by policy"]
    assert move(standing.action, standing.card, take(), NOON + 100 * HOUR).claimed


@pytest.mark.parametrize("changed", [{"arguments_fit": False}, {"reach": ("privilege", "spends")}])
def test_a_changed_tool_that_the_arguments_or_the_reach_no_longer_fit_refuses(changed: dict[str, Any]) -> None:
    moved = move(approved.action, approved.card, take(tool_rev="rev2", **changed), NOON)
    assert moved.action.refusal is RefusalKind.TOOL_CHANGED
    assert "pay changed" in moved.action.words


def test_an_unchanged_tool_is_not_asked_whether_it_fits() -> None:
    assert move(approved.action, approved.card, take(arguments_fit=False), NOON).claimed


def test_an_irreversible_action_is_looked_at_again_when_its_tool_changed() -> None:
    moved = move(approved.action, approved.card, take(tool_rev="rev2"), NOON)
    assert moved.action.state is S.HELD
    assert "another version of pay" in moved.interrupts[0].why
    assert moved.action.traits.tool_rev == "rev2"


def test_other_actions_run_under_a_changed_tool_that_still_fits() -> None:
    standing = begun(reversibility="compensable").then(APPROVE)
    assert move(standing.action, standing.card, take(tool_rev="rev2"), NOON).claimed
    assert move(begun(NONE).action, None, take(tool_rev="rev2"), NOON).claimed


def test_a_policy_that_became_stricter_asks_where_nobody_has_decided() -> None:
    standing = STANDINGS["cleared by policy"]
    moved = move(standing.action, standing.card, take(ruling_now=ruling(HARD, "it is new")), NOON)
    assert moved.action.state is S.HELD
    assert moved.interrupts[0].why == "ruled more strictly by now: it is new"
    assert moved.action.ruling.policy is HARD
    assert move(standing.action, standing.card, take(ruling_now=ruling(ASYNC)), NOON).claimed


def test_a_policy_that_became_stricter_short_of_denying_does_not_unsay_a_decision() -> None:
    standing = begun(SOFT).then(APPROVE)
    assert move(standing.action, standing.card, take(ruling_now=ruling(HARD)), NOON).claimed


def test_a_policy_that_denies_it_by_now_refuses_even_what_was_approved() -> None:
    moved = move(approved.action, approved.card, take(ruling_now=ruling(DENY, "no payments today")), NOON)
    assert (moved.action.refusal, moved.action.refused_by) == (RefusalKind.DENIED, "policy")
    assert "no payments today" in moved.action.words


def test_a_policy_that_became_laxer_changes_nothing() -> None:
    assert move(held.action, held.card, take(ruling_now=ruling(NONE)), NOON).action.state is S.HELD


def test_a_composite_is_entered_again_by_whoever_drives_the_run_under_the_same_fence() -> None:
    entered = STANDINGS["entered"]
    again = move(entered.action, entered.card, take(process=P2), NOON)
    assert again.claimed
    assert (again.action.fence, again.action.tries, again.action.process) == (1, 1, P2)
    assert not again.facts


def test_a_composite_whose_executor_is_gone_stays_entered_and_waits() -> None:
    entered = STANDINGS["entered"]
    lost = move(entered.action, entered.card, LOSE, NOON)
    assert (lost.action.state, lost.action.process) == (S.EXECUTING, None)


# ------------------------------------------------------------------------------------------ silence


def test_silence_lets_go_when_the_window_has_passed_and_not_before_and_names_nobody() -> None:
    edge = NOON + 10 * MINUTE
    early = move(softly.action, softly.card, c.Proceed(NOON), edge - timedelta(microseconds=1))
    assert early == Moved(softly.action)
    moved = move(softly.action, softly.card, c.Proceed(NOON), edge)
    assert moved.action.state is S.CLEARED
    assert (moved.action.cleared_at, moved.action.cleared_by) == (edge, None)
    assert (moved.interrupts[0].ending, moved.interrupts[0].decision) == (Ending.PROCEEDED, None)
    assert moved.facts[0].actor == ""


def test_silence_after_the_deadline_is_an_expiry() -> None:
    moved = move(softly.action, softly.card, c.Proceed(NOON), NOON + 4 * HOUR)
    assert moved.action.refusal is RefusalKind.EXPIRED


def test_a_soft_checkpoint_without_a_window_waits_for_a_word() -> None:
    action = replace(softly.action, ruling=replace(softly.action.ruling, window=None))
    assert move(action, softly.card, c.Proceed(NOON), NOON + HOUR) == Moved(action)


def test_what_silence_let_go_is_held_when_the_policy_has_become_strict() -> None:
    gone_on = STANDINGS["let go by silence"]
    moved = move(gone_on.action, gone_on.card, take(ruling_now=ruling(HARD)), gone_on.now)
    assert moved.action.state is S.HELD


def test_silence_does_not_let_go_what_a_person_took_back() -> None:
    taken_back = softly.then(APPROVE).then(c.Revoke(ANA, NEW))
    assert taken_back.action.state is S.HELD
    moved = move(taken_back.action, taken_back.card, c.Proceed(taken_back.now), taken_back.now + HOUR)
    assert moved == Moved(taken_back.action)


def test_silence_does_not_let_go_what_was_executed_before() -> None:
    standing = begun(SOFT, probed=True).then(c.Proceed(NOON), after=HOUR)
    for _ in range(MAX_TRIES):
        standing = standing.then(take()).then(LOSE).then(reconcile(Verdict.RUN_AGAIN, by="probe", decision=None))
    asked = standing.then(take())
    assert asked.action.state is S.HELD
    assert move(asked.action, asked.card, c.Proceed(asked.now), asked.now + HOUR) == Moved(asked.action)


# ------------------------------------------------------------------------------------------ giving back


def test_a_claim_given_back_leaves_the_approval_as_it_was_and_its_fence_used_up() -> None:
    back = move(executing.action, executing.card, c.GiveBack(1), NOON).action
    assert (back.cleared_by, back.cleared_at) == (approved.action.cleared_by, approved.action.cleared_at)
    assert (back.fence, back.tries, back.process, back.claimed_at) == (1, 0, None, None)
    assert move(back, executing.card, take(), NOON).action.fence == 2


def test_a_rerun_given_back_is_in_doubt_as_before() -> None:
    doubt = STANDINGS["in doubt, may rerun"]
    back = doubt.then(take()).then(c.GiveBack(2))
    assert (back.action.state, back.action.tries) == (S.IN_DOUBT, 1)
    withdrawn = back.then(c.Withdraw(ANA, "cancelled"))
    assert withdrawn.action.state is S.IN_DOUBT


def test_what_a_person_let_run_again_and_was_given_back_is_still_to_run_again() -> None:
    back = STANDINGS["to run again"].then(take()).then(c.GiveBack(2))
    assert back.action.state is S.CLEARED
    assert back.then(c.Withdraw(ANA, "cancelled")).action.state is S.IN_DOUBT


def test_a_composite_that_was_entered_cannot_be_given_back_as_if_nothing_had_begun() -> None:
    entered = STANDINGS["entered"].then(take(process=P2))
    back = move(entered.action, entered.card, c.GiveBack(1), NOON)
    assert (back.action.state, back.action.process, back.facts) == (S.EXECUTING, None, ())


# ------------------------------------------------------------------------------------------ doubt


def test_a_process_that_is_gone_loses_only_what_it_was_doing() -> None:
    settled = replace(done.action, process=P1)
    assert move(settled, done.card, LOSE, NOON) == Moved(settled)


def test_a_rerun_says_in_the_record_what_makes_it_harmless() -> None:
    standing = STANDINGS["in doubt, may rerun"]
    body = move(standing.action, standing.card, take(), NOON).facts[0].body
    assert body == {"fence": 2, "digest": "digest1", "tries": 2, "rerun": "same idempotency key"}
    reversible = begun(NONE, reversibility="reversible").then(take()).then(LOSE)
    assert move(reversible.action, None, take(), NOON).facts[0].body["rerun"] == "reversible"


def test_after_the_last_try_a_person_is_asked() -> None:
    standing = begun(NONE, idempotent=True)
    for attempt in range(1, MAX_TRIES + 1):
        standing = standing.then(take()).then(LOSE)
        assert standing.action.tries == attempt
        assert may_rerun(standing.action) is (attempt < MAX_TRIES)
    assert standing.card is not None
    assert standing.card.kind is RECONCILE
    assert move(standing.action, standing.card, take(), NOON) == Moved(standing.action)


def test_while_people_are_asked_about_a_doubt_nothing_runs_again() -> None:
    standing = STANDINGS["in doubt, may rerun"].then(LOOK)
    assert move(standing.action, standing.card, take(), NOON) == Moved(standing.action)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"tool_rev": "rev2", "arguments_fit": False}, "no longer fit"),
        ({"tool_rev": "rev2", "reach": ()}, "no longer fit"),
        ({"ruling_now": ruling(DENY, "no payments today")}, "no payments today"),
        ({"ruling_now": ruling(HARD, "it is new")}, "it is new"),
    ],
)
def test_what_stands_against_a_rerun_asks_people_about_the_doubt(changed: dict[str, Any], why: str) -> None:
    standing = STANDINGS["in doubt, may rerun"]
    moved = move(standing.action, standing.card, take(**changed), NOON)
    assert not moved.claimed
    assert moved.action.state is S.IN_DOUBT
    (card,) = moved.interrupts
    assert card.kind is RECONCILE
    assert why in card.why


def test_a_rerun_goes_on_under_an_approval_however_old() -> None:
    standing = begun(idempotent=True).then(APPROVE).then(take()).then(LOSE)
    assert move(standing.action, standing.card, take(), NOON + 100 * HOUR).claimed


def test_a_reconcile_card_has_a_document_and_a_digest_of_its_own_and_never_expires() -> None:
    card = doubted.card
    assert card is not None
    assert card.expires_at is None
    document, digest = reconcile_document(doubted.action, NEW)
    assert (card.document, card.digest) == (document, digest)
    assert digest != doubted.action.digest
    assert reconcile_document(doubted.action, InterruptId("another"))[1] != digest
    assert not due(doubted.action, card, NOON + 1000 * HOUR)


def test_the_error_that_left_a_doubt_is_kept() -> None:
    moved = move(executing.action, executing.card, c.Settle(1, UNKNOWN, NEW), NOON)
    assert moved.action.failure == b'"time-out"'
    assert [fact.body.get("why") for fact in moved.facts] == ["it raised an error", "it raised an error"]


def test_what_a_person_found_stands_in_for_the_outcome_under_their_name() -> None:
    found = move(doubted.action, doubted.card, reconcile(Verdict.FOUND_DONE, stored=False, note="I looked"), NOON)
    assert (found.action.result, found.action.stored, found.action.answered_by) == (b'"paid"', False, ANA)
    assert (found.facts[0].actor, found.facts[0].body["note"]) == (ANA, "I looked")
    lost = move(doubted.action, doubted.card, reconcile(Verdict.FOUND_FAILED, failure=b'"no"'), NOON).action
    assert (lost.result, lost.failure) == (None, b'"no"')


def test_run_again_is_a_fresh_yes_with_its_own_age_and_tries() -> None:
    again = STANDINGS["to run again"]
    assert (again.action.cleared_by, again.action.cleared_at, again.action.tries) == ("what happened", again.now, 0)
    claimed = move(again.action, again.card, take(), again.now + HOUR)
    assert (claimed.claimed, claimed.action.fence) == (True, 2)


def test_a_probe_that_found_nothing_leaves_the_old_yes_to_age() -> None:
    standing = begun(probed=True).then(APPROVE).then(take()).then(LOSE)
    assert standing.card is None
    again = standing.then(reconcile(Verdict.RUN_AGAIN, by="probe", decision=None))
    assert again.action.cleared_by == "decision"
    assert move(again.action, again.card, take(), NOON + MINUTE + HOUR).claimed
    assert move(again.action, again.card, take(), NOON + 2 * HOUR).action.state is S.HELD


def test_what_a_probe_keeps_sending_back_is_looked_at_after_the_last_try() -> None:
    standing = begun(NONE, probed=True)
    for _ in range(MAX_TRIES):
        standing = standing.then(take()).then(LOSE).then(reconcile(Verdict.RUN_AGAIN, by="probe", decision=None))
    moved = move(standing.action, standing.card, take(), standing.now)
    assert not moved.claimed
    assert moved.action.state is S.HELD
    assert moved.interrupts[0].why == "executed 3 times without coming to an end"
    approved_again = replace(standing, action=moved.action, card=moved.interrupts[0]).then(APPROVE)
    assert move(approved_again.action, approved_again.card, take(), approved_again.now).claimed


@pytest.mark.parametrize(
    ("command", "later"),
    [
        (take(), HOUR + MINUTE),
        (take(tool_rev="rev2", arguments_fit=False), MINUTE),
        (take(tool_rev="rev2"), MINUTE),
        (take(ruling_now=ruling(DENY)), MINUTE),
        (c.Revoke(ANA, NEW), MINUTE),
        (c.Withdraw(ANA, "cancelled"), MINUTE),
        (c.Supersede("moved on"), MINUTE),
    ],
)
def test_what_was_to_run_again_and_did_not_is_in_doubt_and_never_called_not_run(
    command: c.Command, later: timedelta
) -> None:
    again = STANDINGS["to run again"]
    moved = move(again.action, again.card, command, again.now + later)
    assert moved.action.state is S.IN_DOUBT
    assert moved.action.refusal is None
    late = replace(again, action=moved.action, card=moved.interrupts[0] if moved.interrupts else None)
    assert move(late.action, late.card, c.Settle(1, PAID, NEW), again.now + later).action.state is S.DONE


def test_a_yes_that_was_taken_back_does_not_come_back_by_a_probe() -> None:
    again = STANDINGS["to run again"].then(c.Withdraw(ANA, "cancelled"))
    sent_back = again.then(reconcile(Verdict.RUN_AGAIN, by="probe", decision=None))
    assert sent_back.action.state is S.CLEARED
    moved = move(sent_back.action, sent_back.card, take(), sent_back.now)
    assert not moved.claimed
    assert moved.action.state is S.HELD
    assert moved.interrupts[0].why == "the approval that it had no longer counts"


def test_a_yes_that_was_taken_back_does_not_come_back_by_a_rerun() -> None:
    doubt = begun(idempotent=True).then(APPROVE).then(take()).then(LOSE).then(LOOK)
    withdrawn = doubt.then(reconcile(Verdict.RUN_AGAIN)).then(c.Withdraw(ANA, "cancelled"))
    moved = move(withdrawn.action, withdrawn.card, take(), withdrawn.now)
    assert not moved.claimed
    assert moved.interrupts[0].kind is RECONCILE


# ------------------------------------------------------------------------------------------ outcomes


def test_an_outcome_is_kept_as_it_was_told() -> None:
    opaque = c.Outcome(c.OutcomeKind.DONE, result=b'{"repr":"<Socket>"}', stored=False)
    action = move(executing.action, executing.card, c.Settle(1, opaque, NEW), NOON).action
    assert (action.result, action.stored, action.process, action.settled_at) == (opaque.result, False, None, NOON)


@pytest.mark.parametrize(
    "other",
    [
        c.Outcome(c.OutcomeKind.DONE, result=b'"paid twice"'),
        c.Outcome(c.OutcomeKind.DONE, result=b'"paid"', stored=False),
        c.Outcome(c.OutcomeKind.FAILED, failure=b'"declined"'),
    ],
)
def test_another_outcome_for_the_same_claim_is_a_conflict_that_changes_nothing(other: c.Outcome) -> None:
    moved = move(done.action, done.card, c.Settle(1, other, NEW), NOON)
    assert moved.action == done.action
    assert [fact.type for fact in moved.facts] == [E.OUTCOME_CONFLICTED]
    assert moved.facts[0].body["state"] == "done"


def test_success_without_a_value_and_failure_without_a_reason_are_not_the_same_outcome() -> None:
    nothing = executing.then(c.Settle(1, c.Outcome(c.OutcomeKind.DONE), NEW))
    moved = move(nothing.action, nothing.card, c.Settle(1, c.Outcome(c.OutcomeKind.FAILED), NEW), NOON)
    assert [fact.type for fact in moved.facts] == [E.OUTCOME_CONFLICTED]


def test_a_late_outcome_does_not_overrule_a_person() -> None:
    found = doubted.then(reconcile(Verdict.FOUND_DONE))
    moved = move(found.action, found.card, c.Settle(1, PAID, NEW), NOON)
    assert moved.action == found.action
    assert [fact.type for fact in moved.facts] == [E.OUTCOME_CONFLICTED]


# ------------------------------------------------------------------------------------------ anew, and back


@pytest.mark.parametrize("kind", RefusalKind)
def test_only_what_lapsed_can_be_tried_anew_and_a_no_stands(kind: RefusalKind) -> None:
    action = replace(held.action, state=S.REFUSED, refusal=kind)
    moved = move(action, None, c.TryAnew(), NOON)
    assert moved.action.retried is (kind in ("expired", "withdrawn", "superseded", "tool_changed"))
    assert replace(moved.action, retried=False) == action


def test_an_action_is_tried_anew_once_as_the_next_attempt() -> None:
    moved = move(failed.action, failed.card, c.TryAnew(), NOON)
    assert moved.facts[0].body == {"attempt": 2}
    assert move(moved.action, failed.card, c.TryAnew(), NOON) == Moved(moved.action)


def test_what_a_person_found_to_have_happened_can_be_rolled_back() -> None:
    found = doubted.then(reconcile(Verdict.FOUND_DONE))
    assert move(found.action, found.card, c.StartRollback(ANA, P1), NOON).claimed


def test_an_answer_that_stood_in_for_the_action_cannot_be_rolled_back_even_after_an_unused_claim() -> None:
    held_again = executing.then(c.GiveBack(1)).then(take(), after=2 * HOUR)
    assert held_again.action.state is S.HELD
    answered = held_again.then(decide(Verdict.RESPOND))
    with pytest.raises(DecisionError) as caught:
        move(answered.action, answered.card, c.StartRollback(ANA, P1), NOON)
    assert caught.value.code == "not_done"


def test_a_rollback_is_claimed_once_and_keeps_the_words_of_how_it_ended() -> None:
    assert (rolling_back.action.fence, rolling_back.action.process) == (2, P1)
    ended = move(rolling_back.action, rolling_back.card, c.EndRollback(2, "conflict", "it was changed since"), NOON)
    assert (ended.action.words, ended.action.process) == ("it was changed since", None)
    with pytest.raises(DecisionError):
        move(rolling_back.action, rolling_back.card, c.StartRollback(ANA, P2), NOON)


def test_a_rollback_whose_executor_is_gone_failed_and_says_that_nobody_knows() -> None:
    lost = move(rolling_back.action, rolling_back.card, LOSE, NOON).action
    assert (lost.state, lost.process) == (S.ROLLBACK_FAILED, None)
    assert "not known whether it was undone" in lost.words


# ------------------------------------------------------------------------------------------ questions and pauses


def asking(kind: ActionKind, *answers: str, policy: InterruptPolicy = HARD) -> Moved:
    proposed = draft(policy)
    traits = replace(proposed.traits, kind=kind, answers=answers)
    return begin(replace(proposed, traits=traits), Opening(NEW), NOON)


def card_of(moved: Moved) -> Interrupt:
    (card,) = moved.interrupts
    return card


def test_a_question_has_a_card_of_its_kind_and_takes_an_answer_or_a_refusal_and_no_approval() -> None:
    asked = asking(ActionKind.QUESTION)
    assert card_of(asked).kind is InterruptKind.QUESTION
    for verdict in (Verdict.APPROVE, Verdict.MODIFY):
        with pytest.raises(DecisionError) as caught:
            move(asked.action, card_of(asked), decide(verdict), NOON)
        assert (caught.value.code, caught.value.mend) == ("bad_verdict", "It takes respond, reject or redirect.")
    answered = move(asked.action, card_of(asked), decide(Verdict.RESPOND), NOON)
    assert answered.action.state is S.DONE
    assert move(asked.action, card_of(asked), decide(Verdict.REJECT), NOON).action.refusal is RefusalKind.REJECTED


def test_a_pause_takes_only_the_answers_that_its_framework_offers() -> None:
    paused = asking(ActionKind.OBSERVED, "approve")
    assert card_of(paused).kind is InterruptKind.OBSERVED
    with pytest.raises(DecisionError) as caught:
        move(paused.action, card_of(paused), decide(Verdict.REJECT), NOON)
    assert caught.value.mend == "It takes approve."
    assert move(paused.action, card_of(paused), decide(Verdict.APPROVE), NOON).action.state is S.CLEARED


def test_an_approved_pause_is_handed_over_once_and_cannot_be_rolled_back() -> None:
    paused = asking(ActionKind.OBSERVED)
    approved = move(paused.action, card_of(paused), decide(Verdict.APPROVE), NOON)
    told = move(approved.action, card_of(approved), c.Deliver(), NOON)
    assert told.action.state is S.DONE
    assert [fact.type for fact in told.facts] == [E.ANSWER_DELIVERED]
    assert move(told.action, card_of(approved), c.Deliver(), NOON) == Moved(told.action)
    with pytest.raises(DecisionError, match="only what an executor did"):
        move(told.action, card_of(approved), c.StartRollback(ANA, P1), NOON)


def test_a_pause_that_a_call_of_ours_joined_is_claimed_and_not_handed_over() -> None:
    paused = asking(ActionKind.OBSERVED)
    approved = move(paused.action, card_of(paused), decide(Verdict.APPROVE), NOON)
    claimed = move(approved.action, card_of(approved), take(), NOON)
    assert claimed.claimed
    given_back = move(claimed.action, card_of(approved), c.GiveBack(1), NOON)
    assert move(given_back.action, card_of(approved), c.Deliver(), NOON).action.state is S.CLEARED


def test_what_goes_beyond_the_ticket_is_denied_and_an_approval_that_outlives_it_is_not_used() -> None:
    beyond = begin(draft(NONE), Opening(NEW, over_ticket="no more"), NOON)
    assert (beyond.action.refusal, beyond.action.refused_by) == (RefusalKind.DENIED, "ticket")
    late = move(approved.action, approved.card, take(over_ticket="its time is up"), NOON)
    assert (late.action.refusal, late.action.words) == (RefusalKind.DENIED, "its time is up")
