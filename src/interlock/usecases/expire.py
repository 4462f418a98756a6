"""Expire cards whose time is over. Cosmetic: every command checks the deadline for itself."""

from __future__ import annotations

from interlock.domain.commands import Expire
from interlock.domain.lifecycle import move
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids


def expire(limit: int, ids: Ids) -> Unit[int]:
    """The unit that ends up to `limit` overdue cards and wakes their runs; answers how many."""

    def unit(rows: Rows) -> Change[int]:
        draft = Draft(rows, ids)
        overdue = rows.due_interrupts(rows.now, limit)
        for card in overdue:
            action = rows.action(card.action)
            if action is not None and action.interrupt == card.id:
                draft.moved(move(action, card, Expire(), rows.now))
                draft.wake(rows.run(card.run))
        return draft.change(len(overdue))

    return unit
