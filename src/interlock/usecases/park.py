"""Park on an action: make sure that somebody who can help is asked."""

from __future__ import annotations

from interlock.domain.action import ActionState
from interlock.domain.commands import AskPeople, Expire
from interlock.domain.ids import ActionId, InterruptId, ProcessId
from interlock.domain.lifecycle import due, move
from interlock.ports.gate import Standing
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.settle import known


def park(action_id: ActionId, process: ProcessId, why: str, ids: Ids) -> Unit[Standing]:
    """The unit that opens the reconcile card of an action in doubt, if it has none, and closes a card that is due."""

    def unit(rows: Rows) -> Change[Standing]:
        draft = Draft(rows, ids)
        action = known(rows, action_id)
        card = draft.card(action)
        if due(action, card, rows.now):
            action = draft.moved(move(action, card, Expire(), rows.now))
        if action.state is ActionState.IN_DOUBT:
            before = draft.last_card(action)
            previous = before.id if before is not None else None
            ask = AskPeople(InterruptId(ids()), why or "it is not known whether it happened", previous)
            action = draft.moved(move(action, draft.card(action), ask, rows.now), f"executor:{process}")
        return draft.change(Standing(action, draft.card(action)))

    return unit
