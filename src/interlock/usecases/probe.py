"""Take a probe's word about an action in doubt."""

from __future__ import annotations

from interlock.domain.action import ActionState
from interlock.domain.commands import Outcome, Reconcile
from interlock.domain.decision import Verdict
from interlock.domain.ids import ActionId, ProcessId
from interlock.domain.lifecycle import move
from interlock.ports.gate import Standing
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.settle import known


def probed(action_id: ActionId, process: ProcessId, happened: bool, result: Outcome | None, ids: Ids) -> Unit[Standing]:
    """The unit that settles a doubt by probe: it happened (with this result), or it may run again."""

    def unit(rows: Rows) -> Change[Standing]:
        draft = Draft(rows, ids)
        action = known(rows, action_id)
        if action.state is ActionState.IN_DOUBT:
            verdict = Verdict.FOUND_DONE if happened else Verdict.RUN_AGAIN
            command = Reconcile(
                verdict, "probe", result=result.result if result else None, stored=result.stored if result else True
            )
            action = draft.moved(move(action, draft.card(action), command, rows.now), f"executor:{process}")
        return draft.change(Standing(action, draft.card(action)))

    return unit
