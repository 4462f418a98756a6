"""Revoke an approval until it is claimed: the action is held again."""

from __future__ import annotations

from interlock.domain.commands import Revoke
from interlock.domain.errors import DecisionError
from interlock.domain.ids import InterruptId
from interlock.domain.interrupt import Interrupt
from interlock.domain.lifecycle import move
from interlock.domain.reviewers import Principal
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids


def revoke(interrupt: InterruptId, digest: str, by: Principal, note: str, ids: Ids) -> Unit[Interrupt]:
    """The unit that takes the approval given on this card back; answers the new card."""

    def unit(rows: Rows) -> Change[Interrupt]:
        draft = Draft(rows, ids)
        card = rows.interrupt(interrupt)
        if card is None:
            raise DecisionError("unknown_interrupt", f"there is no card {interrupt}")
        if not by.may_decide:
            raise DecisionError("not_allowed", f"{by} may not revoke", "It needs an authenticated reviewer.")
        if digest != card.digest:
            raise DecisionError("digest_mismatch", "the digest is not that of this card")
        action = rows.action(card.action)
        assert action is not None, "a card's action is written with it"
        if action.interrupt != card.id:
            raise DecisionError("superseded", f"this card is superseded by {action.interrupt}")
        moved = move(action, card, Revoke(str(by), InterruptId(ids()), note), rows.now)
        draft.moved(moved)
        return draft.change(moved.interrupts[0])

    return unit
