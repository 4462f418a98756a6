"""Settle a claim: record what the execution came to, once."""

from __future__ import annotations

from interlock.domain.action import Action, ActionState
from interlock.domain.commands import Outcome, Settle
from interlock.domain.errors import CallError
from interlock.domain.ids import ActionId, InterruptId, ProcessId
from interlock.domain.lifecycle import move
from interlock.ports.gate import Standing
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids


def settle(action_id: ActionId, process: ProcessId, fence: int, outcome: Outcome, ids: Ids) -> Unit[Standing]:
    """The unit that records an outcome; a late one is evidence, a contradicting one changes nothing."""

    def unit(rows: Rows) -> Change[Standing]:
        draft = Draft(rows, ids)
        action = known(rows, action_id)
        moved = move(action, draft.card(action), Settle(fence, outcome, InterruptId(ids())), rows.now)
        after = draft.moved(moved, f"executor:{process}")
        if action.state is ActionState.IN_DOUBT and after.state is not ActionState.IN_DOUBT:
            draft.wake(rows.run(after.run))
        return draft.change(Standing(after, draft.card(after)))

    return unit


def known(rows: Rows, action: ActionId) -> Action:
    """The action of this id, or `CallError`."""
    row = rows.action(action)
    if row is None:
        raise CallError("unknown_action", f"there is no action {action}")
    return row
