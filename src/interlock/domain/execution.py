"""From the claim on: executing, its outcomes, doubt and its settling, rollback. Part of the state machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from interlock.canonical import Json, canonical_bytes, digest_bytes
from interlock.domain import commands as c
from interlock.domain.action import Action, ActionState, RefusalKind
from interlock.domain.decision import Verdict
from interlock.domain.errors import DecisionError
from interlock.domain.events import EventType
from interlock.domain.ids import Digest, InterruptId
from interlock.domain.interrupt import Ending, Interrupt, InterruptKind
from interlock.domain.moves import Fact, Moved, clock, close, expire, hold, preview_document, queued, refuse
from interlock.domain.ruling import CHECK_HOLDS, Ruling
from interlock.domain.texts import length
from interlock.domain.tool import InterruptPolicy

MAX_TRIES = 3
"""How often one revision is executed without a person: the first time and two repetitions."""


def give_back(action: Action, _: Interrupt | None, command: c.GiveBack, __: datetime) -> Moved:
    """A claim comes back unused: nothing happened that counts, and the approval goes on ageing."""
    if action.state is not ActionState.EXECUTING or command.fence != action.fence:
        return Moved(action)
    if action.traits.composite:  # it was entered, by this claim or before: its children may have run
        return Moved(replace(action, process=None))
    # An earlier try may have happened, whatever became of this one.
    state = ActionState.IN_DOUBT if action.tries > 1 else ActionState.CLEARED
    back = replace(action, state=state, tries=action.tries - 1, process=None, claimed_at=None)
    body: dict[str, Json] = {"fence": command.fence, **({"paused": True} if command.paused else {})}
    return Moved(back, (), (Fact(EventType.ACTION_GIVEN_BACK, body),))


def may_rerun(action: Action) -> bool:
    """Whether an action in doubt may be executed again without asking anybody."""
    return action.traits.reruns and action.tries < MAX_TRIES


def reconcile_document(action: Action, card: InterruptId) -> tuple[bytes, Digest]:
    """The document of a reconcile card and its digest: which claim of which revision is in doubt."""
    document = canonical_bytes(
        {
            "v": 1,
            "kind": "reconcile",
            "interrupt": card,
            "action": action.id,
            "run": action.run,
            "tool": action.tool,
            "revision": action.revision,
            "digest": action.digest,
            "fence": action.fence,
        }
    )
    return document, Digest(digest_bytes("interlock-reconcile/v1", document))


def take(action: Action, card: Interrupt | None, command: c.Take, now: datetime) -> Moved:
    """An executor asks for the claim."""
    if action.state is ActionState.EXECUTING and action.traits.composite:
        # A composite holds no lease: whoever drives the run may enter it again under the same approval.
        return Moved(replace(action, process=command.process), claimed=True)
    if action.state is ActionState.IN_DOUBT:
        if not may_rerun(action) or (card is not None and card.open):  # people have been asked: they answer
            return Moved(action)
    elif action.state is not ActionState.CLEARED:
        return expire(action, card, c.Expire(), now)
    objection = _objection(action, command, now) or _other_preview(action, card, command)
    if objection is not None:
        return _heed(objection, action, card, command, now)
    taken = replace(
        action,
        state=ActionState.EXECUTING,
        fence=action.fence + 1,
        tries=action.tries + 1,
        scope=action.scope if command.scope is None else command.scope,
        process=command.process,
        claimed_at=now,
    )
    body: dict[str, Json] = {"fence": taken.fence, "digest": taken.digest}
    if taken.tries > 1:
        body["tries"] = taken.tries
        body["rerun"] = "same idempotency key" if action.traits.idempotent else action.traits.reversibility
    return Moved(taken, (), (Fact(EventType.ACTION_CLAIMED, body),), claimed=True)


@dataclass(frozen=True, slots=True)
class _Objection:
    """What stands against a claim: the action as it would be held or (with a kind) refused, and why."""

    action: Action
    why: str
    kind: RefusalKind | None = None
    by: str = ""


def _objection(action: Action, command: c.Take, now: datetime) -> _Objection | None:
    if action.cleared_by is not None:
        valid_for = action.ruling.approval_valid_for
        if action.cleared_at is None:
            return _Objection(action, "the approval that it had no longer counts")
        if action.state is ActionState.CLEARED and now - action.cleared_at > valid_for:
            by = f"by {command.approved_by} " if command.approved_by else ""
            why = f"approved {by}at {clock(action.cleared_at)}, did not run within {length(valid_for)}"
            return _Objection(action, why)
    if action.tries >= MAX_TRIES:
        return _Objection(action, f"executed {action.tries} times without coming to an end")
    if command.tool_rev != action.traits.tool_rev:
        if not command.arguments_fit or command.reach != action.traits.reach:
            why = f"{action.tool} changed in the meantime, and the approved arguments or its reach no longer fit"
            return _Objection(action, why, RefusalKind.TOOL_CHANGED)
        if action.traits.reversibility == "irreversible" and action.cleared_by is not None:
            changed = replace(action, traits=replace(action.traits, tool_rev=command.tool_rev))
            return _Objection(changed, f"proposed under another version of {action.tool}; look again")
    if command.over_ticket:
        return _Objection(action, command.over_ticket, RefusalKind.DENIED, "ticket")
    if command.ruling_now.policy.rank > action.ruling.policy.rank:
        tightened = replace(action, ruling=command.ruling_now)
        why = f"ruled more strictly by now: {_what_is_new(command.ruling_now, action.ruling)}"
        if command.ruling_now.policy is InterruptPolicy.DENY:
            return _Objection(tightened, why, RefusalKind.DENIED, command.ruling_now.denied_by)
        if command.ruling_now.policy.holds and action.cleared_by is None:
            return _Objection(tightened, why)
    return _fresh(action, command.ruling_now)


def _fresh(action: Action, now: Ruling) -> _Objection | None:
    """What a check holds now and did not when people let it go: they have not been asked about that."""
    new = tuple(each for each in now.reasons if each.code in CHECK_HOLDS and each not in action.ruling.reasons)
    if not new or action.state is not ActionState.CLEARED:
        return None
    told = replace(action, ruling=replace(action.ruling, reasons=(*new, *action.ruling.reasons)))
    return _Objection(told, "; ".join(reason.words for reason in new))


def _what_is_new(now: Ruling, before: Ruling) -> str:
    """The reasons that were not there before; all of them where none is new."""
    new = [reason for reason in now.reasons if reason not in before.reasons] or now.reasons
    return "; ".join(reason.words for reason in new)


def _other_preview(action: Action, card: Interrupt | None, command: c.Take) -> _Objection | None:
    """What was approved is what was shown: another preview than that needs another look."""
    now, shown = command.preview, command.shown
    # Where an earlier try may have happened, people answered what is known of that, and no preview.
    if now is None or shown is None or now.same(shown) or action.state is not ActionState.CLEARED or unsettled(card):
        return None
    if now.text is None:
        return _Objection(action, f"what it would do cannot be shown any more: {now.failed}")
    return _Objection(action, "what it would do has changed since it was approved")


def _heed(objection: _Objection, action: Action, card: Interrupt | None, command: c.Take, now: datetime) -> Moved:
    """Hold or refuse what did not run; what may have happened is in doubt, and people are asked about that."""
    new, preview = command.new_interrupt, command.preview
    if action.state is ActionState.IN_DOUBT:
        return ask(action, card, c.AskPeople(new, objection.why), now)
    if unsettled(card):
        return doubt_anew(action, new, objection.why, now, EventType.ACTION_IN_DOUBT)
    if objection.kind is not None:
        return refuse(objection.action, objection.kind, objection.why, now, EventType.ACTION_REFUSED, by=objection.by)
    previous = card.id if card else None
    document = preview_document(action, preview) if preview is not None else None
    event = EventType.ACTION_HELD_AGAIN
    return hold(objection.action, new, objection.why, now, event, previous=previous, document=document)


def unsettled(card: Interrupt | None) -> bool:
    """Whether a cleared action was cleared by a person's "run again": nobody knows then that it did not happen."""
    return card is not None and card.kind is InterruptKind.RECONCILE and card.decision is not None


def doubt_anew(
    action: Action, new: InterruptId | None, why: str, now: datetime, event: EventType, actor: str = ""
) -> Moved:
    """What was to run again and did not, in doubt once more, with one fact of type `event`.

    Without its time, the yes that it had counts no more: neither a rerun nor a probe brings it back.
    """
    doubt = replace(action, state=ActionState.IN_DOUBT, interrupt=None, cleared_at=None)
    fact = Fact(event, {"fence": action.fence, "why": why}, actor)
    if new is None:
        return Moved(doubt, (), (fact,))
    asked = ask(doubt, None, c.AskPeople(new, why, action.interrupt), now)
    return replace(asked, facts=(fact, *asked.facts))


def settle(action: Action, card: Interrupt | None, command: c.Settle, now: datetime) -> Moved:
    """An executor reports an outcome, in time or late."""
    outcome, ours = command.outcome, command.fence == action.fence
    body: dict[str, Json] = {"fence": command.fence, "outcome": outcome.kind.value, "stored": outcome.stored}
    if ours and action.state is ActionState.EXECUTING:
        if outcome.kind is c.OutcomeKind.IN_DOUBT:
            return _doubt(replace(action, failure=outcome.failure), command.new_interrupt, "it raised an error", now)
        event = EventType.ACTION_DONE if outcome.kind is c.OutcomeKind.DONE else EventType.ACTION_FAILED
        return Moved(_with_outcome(action, outcome, now), (), (Fact(event, body),))
    if outcome.kind is c.OutcomeKind.IN_DOUBT:
        return Moved(action)
    # It happened after all, while it was about to be executed again: that must not be.
    waiting = action.state in (ActionState.CLEARED, ActionState.HELD) and action.fence > 0
    if ours and (action.state is ActionState.IN_DOUBT or (waiting and outcome.kind is c.OutcomeKind.DONE)):
        closed = (close(card, Ending.SETTLED, now),) if card is not None and card.open else ()
        fact = Fact(EventType.LATE_OUTCOME_RECORDED, body, interrupt=closed[0].id if closed else None)
        return Moved(_with_outcome(action, outcome, now), closed, (fact,))
    if ours and not action.answered_by and _with_outcome(action, outcome, action.settled_at or now) == action:
        return Moved(action)  # told twice
    return Moved(action, (), (Fact(EventType.OUTCOME_CONFLICTED, {**body, "state": action.state.value}),))


def _with_outcome(action: Action, outcome: c.Outcome, now: datetime) -> Action:
    state = ActionState.DONE if outcome.kind is c.OutcomeKind.DONE else ActionState.FAILED
    return replace(
        action,
        state=state,
        result=outcome.result,
        stored=outcome.stored,
        failure=outcome.failure,
        settled_at=now,
        process=None,
    )


def lose(action: Action, _: Interrupt | None, command: c.LoseLease, now: datetime) -> Moved:
    """The executor is gone without an outcome."""
    if action.process != command.process:
        return Moved(action)
    if action.state is ActionState.ROLLING_BACK:
        words = "its executor is gone; it is not known whether it was undone"
        return end_rollback(action, None, c.EndRollback(action.fence, "failed", words), now)
    if action.state is not ActionState.EXECUTING:
        return Moved(action)
    if action.traits.composite:
        return Moved(replace(action, process=None))
    return _doubt(action, command.new_interrupt, "its executor is gone", now)


def _doubt(action: Action, new: InterruptId, why: str, now: datetime) -> Moved:
    doubt = replace(action, state=ActionState.IN_DOUBT, process=None, interrupt=None, settled_at=None)
    fact = Fact(EventType.ACTION_IN_DOUBT, {"fence": action.fence, "why": why})
    if may_rerun(doubt) or doubt.traits.probed:
        return Moved(doubt, (), (fact,))
    asked = ask(doubt, None, c.AskPeople(new, why, action.interrupt), now)
    return replace(asked, facts=(fact, *asked.facts))


def ask(action: Action, card: Interrupt | None, command: c.AskPeople, now: datetime) -> Moved:
    """Open the reconcile card."""
    if action.state is not ActionState.IN_DOUBT or (card is not None and card.open):
        return Moved(action)
    document, digest = reconcile_document(action, command.new_interrupt)
    opened = Interrupt(
        id=command.new_interrupt,
        kind=InterruptKind.RECONCILE,
        run=action.run,
        action=action.id,
        revision=action.revision,
        digest=digest,
        opened_at=now,
        expires_at=None,
        why=command.why,
        previous=card.id if card is not None else command.previous,
        document=document,
        **queued(action, InterruptKind.RECONCILE),
    )
    fact = Fact(EventType.RECONCILE_OPENED, {"digest": digest, "why": command.why}, interrupt=opened.id)
    return Moved(replace(action, interrupt=opened.id), (opened,), (fact,))


def reconcile(action: Action, card: Interrupt | None, command: c.Reconcile, now: datetime) -> Moved:
    """A person or a probe says what happened."""
    if action.state is not ActionState.IN_DOUBT:
        raise DecisionError("not_in_doubt", f"the action is {action.state.value}; there is nothing to reconcile")
    if not command.verdict.reconciles:
        raise DecisionError("bad_verdict", f"{command.verdict.value} does not say what happened")
    if command.decision is not None and (card is None or not card.open):
        raise DecisionError("not_open", "no card is open on which to say what happened")
    body: dict[str, Json] = {"verdict": command.verdict.value, "decision": command.decision, "fence": action.fence}
    if command.note:
        body["note"] = command.note
    closed = (close(card, Ending.RECONCILED, now, command.decision),) if card is not None and card.open else ()
    fact = Fact(EventType.ACTION_RECONCILED, body, command.by, closed[0].id if closed else None)
    if command.verdict is Verdict.RUN_AGAIN:
        # A person's word is a fresh approval with its own age; a probe's is not, the old one goes on ageing.
        fresh = {"cleared_at": now, "cleared_by": command.decision} if command.decision else {}
        again = replace(action, state=ActionState.CLEARED, interrupt=card.id if card else None, **fresh)
        return Moved(replace(again, tries=0) if command.decision else again, closed, (fact,))
    outcome = (
        c.Outcome(c.OutcomeKind.DONE, command.result, command.stored)
        if command.verdict is Verdict.FOUND_DONE
        else c.Outcome(c.OutcomeKind.FAILED, failure=command.failure)
    )
    return Moved(replace(_with_outcome(action, outcome, now), answered_by=command.by), closed, (fact,))


def start_rollback(action: Action, card: Interrupt | None, command: c.StartRollback, now: datetime) -> Moved:
    """Claim the undoing of what was done."""
    answered = card is not None and card.ending is Ending.RESPONDED  # it stands in for an execution
    if action.state is not ActionState.DONE or answered or not action.fence:
        raise DecisionError(
            "not_done", f"the action is {action.state.value}; only what an executor did can be rolled back"
        )
    started = replace(
        action, state=ActionState.ROLLING_BACK, fence=action.fence + 1, process=command.process, claimed_at=now
    )
    return Moved(started, (), (Fact(EventType.ROLLBACK_STARTED, {"fence": started.fence}, command.by),), claimed=True)


def end_rollback(action: Action, _: Interrupt | None, command: c.EndRollback, now: datetime) -> Moved:
    """Record what the undoing came to."""
    if action.state is not ActionState.ROLLING_BACK or command.fence != action.fence:
        return Moved(action)
    state, event = {
        "done": (ActionState.ROLLED_BACK, EventType.ROLLBACK_DONE),
        "conflict": (ActionState.ROLLBACK_CONFLICT, EventType.ROLLBACK_CONFLICTED),
    }.get(command.came_to, (ActionState.ROLLBACK_FAILED, EventType.ROLLBACK_FAILED))
    return Moved(
        replace(action, state=state, words=command.words, process=None, settled_at=now),
        (),
        (Fact(event, {"words": command.words}),),
    )
