"""Decide a card: the first decision that fits wins, whoever else tries is told who and when."""

from __future__ import annotations

from dataclasses import dataclass, replace

from interlock.domain.action import Action, Revision
from interlock.domain.commands import Decide, Reconcile, Revised
from interlock.domain.decision import Decision, Receipt, Verdict
from interlock.domain.errors import DecisionError
from interlock.domain.events import EventType
from interlock.domain.interrupt import Ending, Interrupt, InterruptKind
from interlock.domain.lifecycle import Moved, move
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.adopt_policy import approved_under
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.stored import stored_arguments


@dataclass(frozen=True, slots=True)
class Verdicting:
    """A decision as it came in, with everything made before the transaction.

    `decision.at` and the ids of its action are filled in by the unit; `revision` comes with
    `modify`, `stored` False says that the given result is opaque. `ruled_by` is the digest of a policy that the
    approval was looked at under, beside the one of the proposal.
    """

    decision: Decision
    revised: Revised | None = None
    revision: Revision | None = None
    stored: bool = True
    ruled_by: str = ""


def decide(said: Verdicting, ids: Ids) -> Unit[Receipt]:
    """The unit that records the decision, or raises `DecisionError`.

    Raises `PolicyMoved` where an approval was not looked at under the policy that was adopted last.
    """

    def unit(rows: Rows) -> Change[Receipt]:
        draft = Draft(rows, ids)
        decision = said.decision
        card = rows.interrupt(decision.interrupt)
        if card is None:
            raise DecisionError(
                "unknown_interrupt", f"there is no card {decision.interrupt}", "List the open ones: interlock inbox"
            )
        action = rows.action(card.action)
        assert action is not None, "a card's action is written with it"
        decision = replace(decision, action=action.id, run=action.run, revision=card.revision, at=rows.now)
        refusal = _refusal(rows, decision, card, action)
        if isinstance(refusal, Receipt):
            return draft.change(refusal)
        if refusal is not None:
            return _refused(draft, decision, card, action, refusal)
        if decision.verdict is Verdict.APPROVE:
            approved_under(rows, action.agent, (action.ruling.policy_digest, said.ruled_by))
        if decision.verdict in (Verdict.APPROVE, Verdict.MODIFY):
            stored_arguments(rows, action)  # what is damaged can be refused, and nothing else
        moved = _move(action, card, replace(said, decision=decision), rows)
        after = draft.moved(moved, str(decision.by))
        if moved.refusal is not None:
            draft.wake(rows.run(after.run))  # it expired by this very look: the run is to be told
            return _refused(draft, decision, card, action, moved.refusal)
        late = any(fact.type is EventType.LATE_REJECTION_RECORDED for fact in moved.facts)
        draft.decisions.append(decision)
        if said.revision is not None:
            draft.revisions.append(replace(said.revision, at=rows.now))
        draft.wake(rows.run(after.run), afresh=True)
        opened = next((other.id for other in moved.interrupts if other.open), None)
        return draft.change(Receipt(decision, after.state, opened, late=late))

    return unit


def _move(action: Action, card: Interrupt, said: Verdicting, rows: Rows) -> Moved:
    decision = said.decision
    if card.kind is InterruptKind.RECONCILE:
        failed = decision.verdict is Verdict.FOUND_FAILED
        return move(
            action,
            card,
            Reconcile(
                decision.verdict,
                str(decision.by),
                decision.id,
                result=None if failed else decision.value,
                stored=said.stored,
                failure=decision.value if failed else None,
                note=decision.note,
            ),
            rows.now,
        )
    result = decision.value if decision.verdict is Verdict.RESPOND else None
    return move(
        action,
        card,
        Decide(decision.verdict, str(decision.by), decision.id, decision.note, said.revised, result, said.stored),
        rows.now,
    )


def _refusal(rows: Rows, decision: Decision, card: Interrupt, action: Action) -> DecisionError | Receipt | None:
    """Why this decision does not count, or its earlier receipt, or None."""
    if not decision.by.may_decide:
        return DecisionError(
            "not_allowed",
            f"{decision.by} may not decide",
            "A decision needs an authenticated reviewer; an agent can never decide.",
        )
    if decision.digest != card.digest:
        return DecisionError(
            "digest_mismatch",
            "the digest is not that of this card",
            "Look at the card again and decide on what it shows now.",
        )
    if card.open and decision.verdict.reconciles is not (card.kind is InterruptKind.RECONCILE):
        fitting = (
            "interlock reconcile, with what you found: done, failed or run again"
            if card.kind is InterruptKind.RECONCILE
            else "approve, modify, reject, respond or redirect"
        )
        return DecisionError(
            "bad_verdict", f"{decision.verdict.value} does not answer this card", f"It takes {fitting}."
        )
    if card.open:
        return None
    earlier = rows.decision(card.decision) if card.decision is not None else None
    if earlier is not None and earlier.says_the_same(decision):
        return Receipt(earlier, action.state, replayed=True)
    return _too_late(rows, card, action, earlier)


def _too_late(rows: Rows, card: Interrupt, action: Action, earlier: Decision | None) -> DecisionError:
    at = card.ended_at
    when = at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""
    if card.ending is Ending.EXPIRED:
        return DecisionError("expired", f"the card expired at {when}; nothing was run", at=at)
    newer = rows.interrupt(action.interrupt) if action.interrupt is not None and action.interrupt != card.id else None
    if newer is not None and newer.open:
        return DecisionError("superseded", f"this card is superseded by {newer.id}", "Look at the newer card.", at=at)
    if earlier is not None:
        return DecisionError(
            "already_decided",
            f"{earlier.by.name} decided this at {when}: {earlier.verdict.value}",
            by=earlier.by.name,
            at=at,
        )
    ending = card.ending.value if card.ending else "closed"
    return DecisionError(ending, f"the card was closed at {when}: {ending}", at=at)


def _refused(draft: Draft, decision: Decision, card: Interrupt, action: Action, refusal: object) -> Change[Receipt]:
    """Keep the evidence of a decision that did not count; a rejection after the expiry is kept as what it is."""
    assert isinstance(refusal, DecisionError)
    receipt = Receipt(decision, action.state)
    if refusal.code == "expired" and decision.verdict is Verdict.REJECT:
        draft.tell(
            EventType.LATE_REJECTION_RECORDED,
            actor=str(decision.by),
            action=action,
            interrupt=card.id,
            body={"decision": decision.id, "digest": card.digest, "note": decision.note},
        )
        return draft.change(replace(receipt, late=True))
    draft.tell(
        EventType.DECISION_REFUSED,
        actor=str(decision.by),
        action=action,
        interrupt=card.id,
        body={"verdict": decision.verdict.value, "code": refusal.code, "digest": decision.digest},
    )
    return draft.change(receipt, refusal)
