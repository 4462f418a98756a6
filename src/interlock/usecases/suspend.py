"""Suspend a composite action that paused inside."""

from __future__ import annotations

from interlock.domain.action import ActionState
from interlock.domain.events import EventType
from interlock.domain.ids import ActionId, ProcessId
from interlock.ports.gate import Standing
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.settle import known


def suspend(action_id: ActionId, process: ProcessId, fence: int, ids: Ids) -> Unit[Standing]:
    """The unit that records the suspension; the action stays entered and may be entered again."""

    def unit(rows: Rows) -> Change[Standing]:
        draft = Draft(rows, ids)
        action = known(rows, action_id)
        if action.state is ActionState.EXECUTING and action.traits.composite and action.fence == fence:
            draft.tell(EventType.COMPOSITE_SUSPENDED, actor=f"executor:{process}", action=action, body={"fence": fence})
        return draft.change(Standing(action))

    return unit
