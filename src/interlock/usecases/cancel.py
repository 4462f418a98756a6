"""Cancel a run: withdraw what has not been claimed, and end it."""

from __future__ import annotations

from dataclasses import replace

from interlock.domain.commands import Withdraw
from interlock.domain.errors import RunError
from interlock.domain.events import EventType
from interlock.domain.ids import RunId
from interlock.domain.lifecycle import move
from interlock.domain.run import RunState
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids, resume_id
from interlock.usecases.passes import ask_about


def cancel(run: RunId, by: str, reason: str, ids: Ids) -> Unit[None]:
    """The unit that cancels; what is executing goes on and may settle, what is in doubt stays so."""

    def unit(rows: Rows) -> Change[None]:
        draft = Draft(rows, ids)
        row = rows.run(run)
        if row is None:
            raise RunError("unknown_run", f"there is no run {run}")
        if row.state is RunState.CANCELLED:
            return draft.change(None)
        if row.state is RunState.FINISHED:
            raise RunError("finished", f"run {run} has finished; there is nothing to cancel")
        for action in rows.actions_of_run(run):
            after = draft.moved(
                move(action, draft.card(action), Withdraw(by, reason or "the run was cancelled"), rows.now)
            )
            ask_about(draft, after)
        draft.put(replace(row, state=RunState.CANCELLED, process=None))
        draft.tell(EventType.RUN_CANCELLED, actor=by, run=row, body={"reason": reason})
        draft.finish_work(resume_id(row))
        return draft.change(None)

    return unit
