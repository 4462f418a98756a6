"""THE state machine of an action: (action, its open card, command, now) -> what becomes of them.

    propose ─ none / async_notification ─────────► cleared ─► executing ─► done ─► rolling_back ─► rolled_back | …
            ─ soft_checkpoint / hard_stop ─► held ─┬─► cleared   │         ├─► failed
            ─ deny ─► refused                      └─► refused   │         └─► in_doubt ─► done | failed | cleared
                                              ◄── approval too old ──┘

One pure function, `move`, and `begin` for the first step. A command that does not fit raises; one
that fits but must be answered with a refusal *and* leaves evidence returns both (`Moved.refusal`).
Deadlines are checked here, before the command, so that nothing depends on a sweeper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from interlock.canonical import Json
from interlock.domain import commands as c
from interlock.domain.action import Action, ActionKind, ActionState, RefusalKind
from interlock.domain.decision import Verdict
from interlock.domain.errors import DecisionError
from interlock.domain.events import EventType
from interlock.domain.execution import (
    MAX_TRIES,
    ask,
    doubt_anew,
    end_rollback,
    give_back,
    lose,
    may_rerun,
    reconcile,
    reconcile_document,
    settle,
    start_rollback,
    take,
    unsettled,
)
from interlock.domain.ids import InterruptId
from interlock.domain.interrupt import Ending, Interrupt
from interlock.domain.moves import Fact, Moved, clock, close, due, expire, hold, refuse, ruling_body
from interlock.domain.ruling import CHECK_HOLDS, Reason
from interlock.domain.tool import InterruptPolicy

__all__ = [
    "MAX_TRIES",
    "Fact",
    "Moved",
    "Opening",
    "begin",
    "due",
    "may_rerun",
    "move",
    "reconcile_document",
    "ruling_body",
    "verdicts",
]


@dataclass(frozen=True, slots=True)
class Opening:
    """How a proposal begins: the id of a card, should one open, and what the record knows of it.

    `repeated` are the words of an earlier no (or edit) to the same effect, `duplicate` says that an
    equal effect ran already, `nested` that an executing tool which cannot pause made the call,
    `over_ticket` how it goes beyond what the run may do at all.
    """

    new_interrupt: InterruptId
    repeated: str = ""
    duplicate: str = ""
    nested: str = ""
    over_ticket: str = ""


def begin(draft: Action, opening: Opening, now: datetime) -> Moved:
    """Start the life of a proposed action under its ruling; `draft.state` is disregarded."""
    action, ruling = replace(draft, interrupt=None), draft.ruling
    said: dict[str, Json] = {"digest": action.digest, "tool": action.tool, "ruling": ruling_body(action)}
    if opening.repeated:
        return refuse(action, RefusalKind.REPEATED, opening.repeated, now, EventType.ACTION_REFUSED, body=said)
    if opening.over_ticket:
        return refuse(
            action, RefusalKind.DENIED, opening.over_ticket, now, EventType.ACTION_REFUSED, by="ticket", body=said
        )
    if opening.duplicate and ruling.profile != "record":
        ruling = ruling.stricter(InterruptPolicy.HARD_STOP, Reason("suspected_duplicate", opening.duplicate))
        action = replace(action, ruling=ruling)
        said["ruling"] = ruling_body(action)
    if ruling.policy is InterruptPolicy.DENY:
        words = "; ".join(reason.words for reason in ruling.reasons)
        by = ruling.denied_by
        return refuse(action, RefusalKind.DENIED, words, now, EventType.ACTION_REFUSED, by=by, body=said)
    if not ruling.policy.holds:
        return Moved(
            replace(action, state=ActionState.CLEARED, cleared_at=now), (), (Fact(EventType.ACTION_CLEARED, said),)
        )
    if opening.nested:
        return refuse(action, RefusalKind.NESTED_PAUSE, opening.nested, now, EventType.ACTION_REFUSED, body=said)
    why = "; ".join(reason.words for reason in ruling.reasons)
    return hold(action, opening.new_interrupt, why, now, EventType.ACTION_HELD, body=said)


def move(action: Action, card: Interrupt | None, command: c.Command, now: datetime) -> Moved:
    """Answer one command. `card` is the interrupt that the action names, if any.

    Raises `DecisionError` where a person's command does not fit; commands of the machinery that
    come too late return the action unchanged.
    """
    handler = cast("Callable[[Action, Interrupt | None, c.Command, datetime], Moved]", _HANDLERS[type(command)])
    return handler(action, card, command, now)


def _decide(action: Action, card: Interrupt | None, command: c.Decide, now: datetime) -> Moved:
    if action.state is not ActionState.HELD or card is None or not card.open:
        raise DecisionError("not_open", f"the action is {action.state.value}, there is nothing to decide")
    if due(action, card, now):
        expired = expire(action, card, c.Expire(), now)
        if command.verdict is Verdict.REJECT:
            # A late no is harmless and worth keeping; it changes nothing and is not called a rejection of the action.
            late = Fact(EventType.LATE_REJECTION_RECORDED, _decision_body(command, card), command.by, card.id)
            return replace(expired, facts=(*expired.facts, late))
        return replace(
            expired, refusal=DecisionError("expired", f"the card expired at {clock(card.expires_at)}; nothing was run")
        )
    fitting = verdicts(action)
    if command.verdict not in fitting:
        raise DecisionError(
            "bad_verdict",
            f"{command.verdict.value} does not answer this card",
            f"It takes {_either(fitting)}.",
        )
    if (
        action.ruling.reason_required
        and command.verdict in (Verdict.APPROVE, Verdict.MODIFY)
        and not command.note.strip()
    ):
        raise DecisionError(
            "reason_missing",
            "the policy wants a reason for letting this run, and none was given; nothing was consumed",
            "Say why in the note of the decision: --note.",
        )
    fact = Fact(EventType.DECISION_RECORDED, _decision_body(command, card), command.by, card.id)
    if command.verdict is Verdict.APPROVE:
        cleared = replace(action, state=ActionState.CLEARED, cleared_at=now, cleared_by=command.decision)
        return Moved(cleared, (close(card, Ending.APPROVED, now, command.decision),), (fact,))
    if command.verdict is Verdict.MODIFY and command.revised is not None:
        return _modify(action, card, command, command.revised, now)
    if command.verdict is Verdict.RESPOND and command.result is not None:
        done = replace(
            action,
            state=ActionState.DONE,
            result=command.result,
            stored=command.stored,
            answered_by=command.by,
            settled_at=now,
        )
        return Moved(done, (close(card, Ending.RESPONDED, now, command.decision),), (fact,))
    if command.verdict in (Verdict.REJECT, Verdict.REDIRECT):
        kind, ending = (
            (RefusalKind.REJECTED, Ending.REJECTED)
            if command.verdict is Verdict.REJECT
            else (RefusalKind.REDIRECTED, Ending.REDIRECTED)
        )
        refused = replace(
            action, state=ActionState.REFUSED, refusal=kind, words=command.note, refused_by=command.by, settled_at=now
        )
        return Moved(refused, (close(card, ending, now, command.decision),), (fact,))
    raise DecisionError("bad_verdict", f"{command.verdict.value} does not decide this card")


_DECIDES = (Verdict.APPROVE, Verdict.MODIFY, Verdict.REJECT, Verdict.RESPOND, Verdict.REDIRECT)
_ANSWERS = (Verdict.RESPOND, Verdict.REJECT, Verdict.REDIRECT)


def verdicts(action: Action) -> tuple[Verdict, ...]:
    """What a person can say on the action's card: a question takes an answer, and there is nothing to approve."""
    known = _ANSWERS if action.traits.kind is ActionKind.QUESTION else _DECIDES
    return tuple(each for each in known if not action.traits.answers or each.value in action.traits.answers)


def _either(fitting: tuple[Verdict, ...]) -> str:
    words = [each.value for each in fitting]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _modify(action: Action, card: Interrupt, command: c.Decide, revised: c.Revised, now: datetime) -> Moved:
    if revised.ruling.policy is InterruptPolicy.DENY:
        words = "; ".join(reason.words for reason in revised.ruling.reasons)
        raise DecisionError("edit_denied", f"policy denies the edited action ({words}); nothing was consumed")
    # Who changes it has read what the checks had said; what they say of the change itself comes before the claim.
    read = tuple(each for each in action.ruling.reasons if each.code in CHECK_HOLDS)
    nxt = replace(
        action,
        state=ActionState.CLEARED,
        revision=action.revision + 1,
        digest=revised.digest,
        effect_hash=revised.effect_hash,
        ruling=replace(revised.ruling, reasons=(*revised.ruling.reasons, *read)) if read else revised.ruling,
        cleared_at=now,
        cleared_by=command.decision,
        tries=0,
    )
    body = {
        **_decision_body(command, card),
        "new_digest": revised.digest,
        "new_revision": nxt.revision,
        "ruling": ruling_body(nxt),
    }
    fact = Fact(EventType.DECISION_RECORDED, body, command.by, card.id)
    return Moved(nxt, (close(card, Ending.MODIFIED, now, command.decision),), (fact,))


def _decision_body(command: c.Decide | c.Reconcile, card: Interrupt) -> dict[str, Json]:
    body: dict[str, Json] = {"decision": command.decision, "verdict": command.verdict.value, "digest": card.digest}
    if command.note:
        body["note"] = command.note
    return body


def _revoke(action: Action, card: Interrupt | None, command: c.Revoke, now: datetime) -> Moved:
    if action.state is ActionState.EXECUTING or action.state is ActionState.DONE:
        raise DecisionError(
            "already_claimed",
            f"the action is {action.state.value}; an approval can be taken back only until it is claimed",
        )
    if action.state is not ActionState.CLEARED or action.cleared_by is None:
        raise DecisionError("not_approved", f"the action is {action.state.value}; there is no approval to take back")
    why = f"approval taken back by {command.by}" + (f": {command.note}" if command.note else "")
    if unsettled(card):
        return doubt_anew(action, command.new_interrupt, why, now, EventType.APPROVAL_REVOKED, command.by)
    return hold(
        action,
        command.new_interrupt,
        why,
        now,
        EventType.APPROVAL_REVOKED,
        previous=card.id if card else None,
        actor=command.by,
        document=card.document if card is not None and card.revision == action.revision else None,
    )


def _withdraw(action: Action, card: Interrupt | None, command: c.Withdraw, now: datetime) -> Moved:
    return _leave_behind(action, card, RefusalKind.WITHDRAWN, Ending.WITHDRAWN, command.reason, command.by, now)


def _supersede(action: Action, card: Interrupt | None, command: c.Supersede, now: datetime) -> Moved:
    return _leave_behind(action, card, RefusalKind.SUPERSEDED, Ending.SUPERSEDED, command.reason, "", now)


def _leave_behind(
    action: Action, card: Interrupt | None, kind: RefusalKind, ending: Ending, reason: str, by: str, now: datetime
) -> Moved:
    if due(action, card, now):
        return expire(action, card, c.Expire(), now)
    if action.state not in (ActionState.HELD, ActionState.CLEARED):
        return Moved(action)
    if action.state is ActionState.CLEARED and unsettled(card):
        return doubt_anew(action, None, reason, now, EventType.ACTION_IN_DOUBT, by)
    event = EventType.ACTION_WITHDRAWN if kind is RefusalKind.WITHDRAWN else EventType.ACTION_SUPERSEDED
    closed = close(card, ending, now) if card is not None and card.open else None
    return refuse(action, kind, reason, now, event, by=by, card=closed)


def _deliver(action: Action, card: Interrupt | None, _: c.Deliver, now: datetime) -> Moved:
    """The answer goes to the framework that paused. Only there: a call of ours is claimed instead."""
    if action.state is not ActionState.CLEARED or action.traits.kind is not ActionKind.OBSERVED or action.fence:
        return expire(action, card, c.Expire(), now)
    told = replace(action, state=ActionState.DONE, settled_at=now, result=_NOTHING, answered_by=_GIVEN)
    return Moved(told, (), (Fact(EventType.ANSWER_DELIVERED, {"digest": action.digest}, interrupt=action.interrupt),))


_NOTHING = b"null"
_GIVEN = "framework:observed"
"""What it did with its answer is not known here: no result, and nobody's word for one."""


def _proceed(action: Action, card: Interrupt | None, command: c.Proceed, now: datetime) -> Moved:
    """Silence lets a soft checkpoint go, and nothing else; in nobody's name."""
    soft, window = action.ruling.policy is InterruptPolicy.SOFT_CHECKPOINT, action.ruling.window
    if action.state is not ActionState.HELD or card is None or not soft or due(action, card, now):
        return expire(action, card, c.Expire(), now)
    # What was held again (an approval taken back, say) or executed before waits for a word.
    if window is None or now < command.opened_at + window or card.previous is not None or action.fence:
        return Moved(action)
    gone_on = replace(action, state=ActionState.CLEARED, cleared_at=now, cleared_by=None)
    fact = Fact(EventType.SILENCE_PROCEEDED, {"digest": card.digest}, interrupt=card.id)
    return Moved(gone_on, (close(card, Ending.PROCEEDED, now),), (fact,))


def _try_anew(action: Action, _: Interrupt | None, __: c.TryAnew, ___: datetime) -> Moved:
    lapsed = action.refusal in (
        RefusalKind.EXPIRED,
        RefusalKind.WITHDRAWN,
        RefusalKind.TOOL_CHANGED,
        RefusalKind.SUPERSEDED,
    )
    if action.retried or not (action.state is ActionState.FAILED or (action.state is ActionState.REFUSED and lapsed)):
        return Moved(action)
    return Moved(replace(action, retried=True), (), (Fact(EventType.ACTION_RETRIED, {"attempt": action.attempt + 1}),))


_HANDLERS: Mapping[type, object] = {
    c.Decide: _decide,
    c.Expire: expire,
    c.Revoke: _revoke,
    c.Withdraw: _withdraw,
    c.Supersede: _supersede,
    c.Take: take,
    c.Deliver: _deliver,
    c.GiveBack: give_back,
    c.Proceed: _proceed,
    c.Settle: settle,
    c.LoseLease: lose,
    c.AskPeople: ask,
    c.Reconcile: reconcile,
    c.TryAnew: _try_anew,
    c.StartRollback: start_rollback,
    c.EndRollback: end_rollback,
}
