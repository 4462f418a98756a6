"""Give a claim back whose tool never started, or paused on purpose."""

from __future__ import annotations

from interlock.domain.commands import GiveBack
from interlock.domain.ids import ActionId, ProcessId
from interlock.domain.lifecycle import move
from interlock.ports.gate import Standing
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.settle import known


def give_back(action_id: ActionId, process: ProcessId, fence: int, paused: bool, ids: Ids) -> Unit[Standing]:
    """The unit that makes the action cleared again, if this claim is still the one."""

    def unit(rows: Rows) -> Change[Standing]:
        draft = Draft(rows, ids)
        action = known(rows, action_id)
        back = GiveBack(fence, paused)
        after = draft.moved(move(action, draft.card(action), back, rows.now), f"executor:{process}")
        return draft.change(Standing(after, draft.card(after)))

    return unit
