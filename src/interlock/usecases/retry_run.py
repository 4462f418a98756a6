"""Retry a run: go on from what is recorded, with whatever ended it freed for another attempt."""

from __future__ import annotations

from dataclasses import replace

from interlock.domain.errors import RunError
from interlock.domain.events import EventType
from interlock.domain.ids import RunId
from interlock.domain.run import Run, RunState
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.passes import try_anew

_RETRIABLE = (RunState.FAILED, RunState.NEEDS_ATTENTION, RunState.DIVERGED, RunState.WAITING)


def retry_run(run: RunId, by: str, accept_divergence: bool, ids: Ids) -> Unit[Run]:
    """The unit that makes a stopped run due again; a run no worker knows is due when entered."""

    def unit(rows: Rows) -> Change[Run]:
        draft = Draft(rows, ids)
        row = rows.run(run)
        if row is None:
            raise RunError("unknown_run", f"there is no run {run}", "List them: interlock runs")
        if row.state not in _RETRIABLE:
            raise RunError("not_stopped", f"run {run} is {row.state.value}; only a stopped run can be retried")
        try_anew(draft, row)
        again = replace(
            row,
            state=RunState.WAITING,
            attention="",
            refusals=0,
            failure=None,
            accept_divergence=accept_divergence and row.state is RunState.DIVERGED,
        )
        draft.put(again)
        draft.tell(EventType.RUN_RETRIED, actor=by, run=again, body={"accept_divergence": again.accept_divergence})
        draft.wake(again, afresh=True)
        return draft.change(again)

    return unit
