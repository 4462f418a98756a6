"""Executor processes: register, beat, and take from the dead what they held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from interlock.domain.action import ActionState
from interlock.domain.errors import RunError
from interlock.domain.events import EventType
from interlock.domain.ids import ActionId, ProcessId, RunId
from interlock.domain.run import Process, Run, RunState
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.passes import executing, lose_claims


def register(process: Process, ids: Ids) -> Unit[Process]:
    """The unit that makes a process known; its lease starts now."""

    def unit(rows: Rows) -> Change[Process]:
        draft = Draft(rows, ids)
        row = replace(process, started_at=rows.now, beat_at=rows.now)
        draft.put(row)
        return draft.change(row)

    return unit


def beat(process: ProcessId, ids: Ids) -> Unit[None]:
    """The unit that renews all claims of a process, or raises `RunError` `process_lost`."""

    def unit(rows: Rows) -> Change[None]:
        draft = Draft(rows, ids)
        row = rows.process(process)
        # A lease that has run out is not renewed: others may have acted on its end already.
        if row is None or not row.alive(rows.now):
            raise RunError("process_lost", "this process was silent for longer than its lease")
        draft.put(replace(row, beat_at=rows.now))
        return draft.change(None)

    return unit


@dataclass(frozen=True, slots=True)
class Held:
    """What a process has in hand: passes (run and number), and actions that it is rolling back."""

    passes: Sequence[tuple[RunId, int]]
    rollbacks: Sequence[ActionId]


def held_by(rows: Rows, process: ProcessId) -> Held:
    """What a process has in hand, for all that the store knows."""
    undoing = [each.id for each in rows.claims_of_process(process) if each.state is ActionState.ROLLING_BACK]
    return Held([(run.id, run.pass_no) for run in rows.runs_of_process(process)], undoing)


def give_up(process: ProcessId, held: Held, ids: Ids) -> Unit[int]:
    """The unit by which a process ends what it does not drive any more, as if it had died; answers how much."""

    def unit(rows: Rows) -> Change[int]:
        draft = Draft(rows, ids)
        strays = [run for run in rows.runs_of_process(process) if (run.id, run.pass_no) in held.passes]
        for run in strays:
            lose_claims(draft, process, executing(rows, process, run.id))
            _lose_pass(draft, run)
        undone = [each for each in rows.claims_of_process(process) if each.id in held.rollbacks]
        lose_claims(draft, process, [each for each in undone if each.state is ActionState.ROLLING_BACK])
        return draft.change(len(strays) + len(undone))

    return unit


def _lose_pass(draft: Draft, run: Run) -> None:
    waiting = replace(draft.run(run.id) or run, state=RunState.WAITING, process=None)
    draft.put(waiting)
    draft.tell(EventType.RUN_PASS_LOST, run=run, body={"pass": run.pass_no})
    draft.wake(waiting)


def bury(dead: Sequence[ProcessId], ids: Ids) -> Unit[int]:
    """The unit that ends processes seen dead, or silent past their lease; answers how many.

    What they executed is in doubt, what they drove waits (and is due, if a worker can resume it).
    """

    def unit(rows: Rows) -> Change[int]:
        draft = Draft(rows, ids)
        lost = [row for row in rows.processes() if row.id in dead or not row.alive(rows.now)]
        for row in lost:
            draft.put(replace(row, lost=True))
            claims, runs = rows.claims_of_process(row.id), rows.runs_of_process(row.id)
            if claims or runs:
                draft.tell(EventType.PROCESS_LOST, body={"process": row.id, "claims": len(claims), "runs": len(runs)})
            lose_claims(draft, row.id, list(claims))
            for work in rows.work_of_process(row.id):
                draft.put(replace(work, process=None, leased_until=None, due_at=rows.now))
            for run in runs:
                _lose_pass(draft, run)
        return draft.change(len(lost))

    return unit
