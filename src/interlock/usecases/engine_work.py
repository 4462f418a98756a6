"""Work for an engine: take it under a lease, finish it, give it back, give it up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

from interlock.domain.events import EventType
from interlock.domain.ids import ProcessId
from interlock.domain.run import Run, RunState, Work, WorkKind
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids

Mine = Callable[[Work, Run | None], bool]

LOOK_AT = 100
"""How much due work is looked at first; where none of it can be done here, ever more."""

MAX_ATTEMPTS = 5
"""Attempts that ended in an error or a dead process before work is called poison."""

NOTHING_SAID = "each time its process died, or it was due again at once and had got no further"


def take_work(process: ProcessId, mine: Mine, limit: int, lease: timedelta, ids: Ids) -> Unit[tuple[Work, ...]]:
    """The unit that leases due work to a process. An attempt is counted when it is taken.

    `mine` tells (purely) whether this process can do it; what others can do is left to them.
    """

    def unit(rows: Rows) -> Change[tuple[Work, ...]]:
        draft = Draft(rows, ids)
        taken: list[Work] = []
        for work in doable(rows, mine):
            if len(taken) == limit:
                break
            if work.attempts >= MAX_ATTEMPTS:
                _give_up(draft, work)
                continue
            leased = replace(work, attempts=work.attempts + 1, process=process, leased_until=rows.now + lease)
            draft.put(leased)
            taken.append(leased)
        return draft.change(tuple(taken))

    return unit


def doable(rows: Rows, mine: Mine) -> Iterator[Work]:
    """Due work that this process can do, oldest first; however much there is before it that nobody here can do.

    A run that a living process drives is left alone, whatever became of the lease on its work: where something
    moves meanwhile, the end of that pass (or its death) makes the run due again.
    """
    seen, limit = 0, LOOK_AT
    while len(due := rows.due_work(rows.now, limit)) > seen:
        for work in due[seen:]:
            run = rows.run(work.run)
            if mine(work, run) and not (work.kind is WorkKind.RESUME and _driven(rows, run)):
                yield work
        seen, limit = len(due), limit * 4


def _driven(rows: Rows, run: Run | None) -> bool:
    if run is None or run.state is not RunState.RUNNING or run.process is None:
        return False
    driver = rows.process(run.process)
    return driver is not None and driver.alive(rows.now)


def finish_work(work: Work, ids: Ids) -> Unit[None]:
    """The unit that strikes work off, unless it was asked for anew since it was taken."""

    def unit(rows: Rows) -> Change[None]:
        draft = Draft(rows, ids)
        row = rows.work(work.id)
        if row is not None and row.process == work.process and row.leased_until == work.leased_until:
            draft.finish_work(work.id)
        return draft.change(None)

    return unit


def return_work(work: Work, error: str, delay: timedelta, ids: Ids) -> Unit[None]:
    """The unit that gives work back after an error (counted) or because another is at it (`error` empty)."""

    def unit(rows: Rows) -> Change[None]:
        draft = Draft(rows, ids)
        row = rows.work(work.id)
        if row is None:
            return draft.change(None)
        ours = row.process == work.process and row.leased_until == work.leased_until
        # The end of a pass in between may have asked anew, and begun to count anew: an error counts all the same.
        asked_anew = row.process is None and bool(error)
        if not ours and not asked_anew:
            return draft.change(None)
        attempts = max(row.attempts, work.attempts) if error else max(row.attempts - 1, 0)
        back = replace(
            row, attempts=attempts, process=None, leased_until=None, due_at=rows.now + delay, error=error[:500]
        )
        if attempts >= MAX_ATTEMPTS:
            _give_up(draft, back)
        else:
            draft.put(back)
        return draft.change(None)

    return unit


def _give_up(draft: Draft, work: Work) -> None:
    """Poison: visible, and out of the loop until a person retries the run."""
    draft.put(replace(work, poison=True, process=None, leased_until=None))
    run = draft.rows.run(work.run)
    why = f"{work.kind.value} was tried {work.attempts} times: {work.error or NOTHING_SAID}"
    if run is not None and run.state in (RunState.WAITING, RunState.RUNNING):
        stopped = replace(run, state=RunState.NEEDS_ATTENTION, attention=why, process=None)
        draft.put(stopped)
        draft.tell(EventType.RUN_NEEDS_ATTENTION, run=run, body={"why": why})
    draft.tell(EventType.WORK_POISONED, run=run, body={"work": work.id, "why": why})
