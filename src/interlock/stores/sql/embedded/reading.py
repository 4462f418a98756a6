"""`Rows` over one connection: every query of the port, inside a transaction that others have begun."""

# ruff: noqa: D102  the port says what each query answers

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from interlock.domain.action import Action, Revision
from interlock.domain.credential import Credential, CredentialKind, Opening
from interlock.domain.decision import Decision
from interlock.domain.events import Event
from interlock.domain.ids import ActionId, CallKey, CredentialId, DecisionId, EffectHash, InterruptId, ProcessId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import Freeze, Process, Run, RunState, Work
from interlock.ports.store import EVERYTHING, Carded, Page, Queue
from interlock.stores.pages import position
from interlock.stores.sql import access_rows as access
from interlock.stores.sql import rows as r
from interlock.stores.sql import statements as s
from interlock.stores.sql.event_rows import read_event
from interlock.stores.sql.packing import pack
from interlock.stores.sql.times import instant, micros

T = TypeVar("T")


def _fixed(queue: Queue) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The columns that a queue fixes, and their values."""
    given = {
        "agent": queue.agent,
        "tool": queue.tool,
        "band": None if queue.band is None else queue.band.value,
        "since": None if queue.since is None else micros(queue.since),
    }
    fixed = {name: value for name, value in given.items() if value is not None}
    return tuple(fixed), tuple(fixed.values())


class SqliteRows:
    """Rows as they stand in the transaction of `connection`.

    `clock` gives microseconds since the epoch. `now` is read once, when it is first asked for: after
    the transaction has begun, and never before the latest committed instant.
    """

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], int], namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self._clock = clock
        self._now: datetime | None = None

    @property
    def now(self) -> datetime:
        if self._now is None:
            self._now = instant(self.read_clock())
        return self._now

    def read_clock(self) -> int:
        """The store's clock: the machine's, but never behind what was committed before."""
        event_at, other_at = self._connection.execute(s.LATEST.sql).fetchone()
        return max(self._clock(), event_at or 0, other_at)

    # Runs and what drives them.

    def run(self, run: RunId) -> Run | None:
        return self._one(s.RUN, r.read_run, pack(run))

    def runs(self, states: Sequence[RunState], page: Page) -> Sequence[Run]:
        query: Callable[[RunState], Sequence[Run]]
        if page.after is None:
            query = partial(self._runs, limit=page.limit)
        else:
            after = pack(page.after)
            place = self._connection.execute(s.RUN_PLACE.sql, (after,)).fetchone()
            if place is None:
                return []
            query = partial(self._runs, limit=page.limit, after=(place[0], after))
        # One index read for each state: each gives its newest, and the newest of those are the page.
        listings = [query(state) for state in dict.fromkeys(states or RunState)]
        merged = heapq.merge(*listings, key=lambda run: (run.started_at, pack(run.id)), reverse=True)
        return list(islice(merged, page.limit))

    def _runs(self, state: RunState, limit: int, after: tuple[int, bytes] | None = None) -> Sequence[Run]:
        if after is None:
            return self._all(s.RUNS, r.read_run, state.value, limit)
        return self._all(s.RUNS_AFTER, r.read_run, state.value, *after, limit)

    def runs_of_process(self, process: ProcessId) -> Sequence[Run]:
        return self._all(s.RUNS_OF_PROCESS, r.read_run, pack(process))

    def unended_run(self, agent: str, thread: str) -> Run | None:
        return self._one(s.UNENDED_RUN, r.read_run, agent, thread)

    def process(self, process: ProcessId) -> Process | None:
        return self._one(s.PROCESS, r.read_process, pack(process))

    def processes(self) -> Sequence[Process]:
        return self._all(s.PROCESSES, r.read_process)

    def policy(self, agent: str) -> PolicyVersion | None:
        row = self._connection.execute(s.POLICY.sql, (agent,)).fetchone()
        return None if row is None else r.read_policy(row)

    def freezes(self) -> Sequence[Freeze]:
        return self._all(s.FREEZES, r.read_freeze)

    # Actions and their revisions.

    def action(self, action: ActionId) -> Action | None:
        return self._one(s.ACTION, r.read_action, pack(action))

    def action_of_call(self, run: RunId, call: CallKey) -> Action | None:
        return self._one(s.ACTION_OF_CALL, r.read_action, pack(run), pack(call))

    def actions_of_run(self, run: RunId) -> Sequence[Action]:
        return self._all(s.ACTIONS_OF_RUN, r.read_action, pack(run))

    def actions_with_effect(self, run: RunId, effect: EffectHash) -> Sequence[tuple[Action, int]]:
        found = self._connection.execute(s.ACTIONS_WITH_EFFECT.sql, (pack(run), pack(effect)))
        return [(r.read_action(row[:-1]), row[-1]) for row in found]

    def count_in_run(self, run: RunId, tool: str | None) -> int:
        if tool is None:
            return self._count(s.COUNT_IN_RUN, pack(run))
        return self._count(s.COUNT_IN_RUN_OF_TOOL, pack(run), tool)

    def count_calls(self, agent: str, tool: str, since: datetime, most: int) -> int:
        return self._count(s.COUNT_CALLS, tool, agent, micros(since), most)

    def claims_of_process(self, process: ProcessId) -> Sequence[Action]:
        return self._all(s.CLAIMS_OF_PROCESS, r.read_action, pack(process))

    def revision(self, action: ActionId, number: int) -> Revision | None:
        return self._one(s.REVISION, r.read_revision, pack(action), number)

    def revisions(self, action: ActionId) -> Sequence[Revision]:
        return self._all(s.REVISIONS, r.read_revision, pack(action))

    def blob(self, digest: str) -> bytes | None:
        row = self._connection.execute(s.BLOB.sql, (pack(digest),)).fetchone()
        return None if row is None else row[0]

    # Cards and what people said.

    def interrupt(self, interrupt: InterruptId) -> Interrupt | None:
        return self._one(s.INTERRUPT, r.read_interrupt, pack(interrupt))

    def interrupts_of_action(self, action: ActionId) -> Sequence[Interrupt]:
        return self._all(s.INTERRUPTS_OF_ACTION, r.read_interrupt, pack(action))

    def open_interrupts(self, page: Page, queue: Queue = EVERYTHING) -> Sequence[Interrupt]:
        return [r.read_interrupt(row) for row in self._queued(page, queue, whole=False)]

    def open_cards(self, page: Page, queue: Queue = EVERYTHING) -> Sequence[Carded]:
        card, action, run = s.CARDED
        return [
            (
                r.read_interrupt(row[:card]),
                r.read_action(row[card : card + action]),
                r.read_run(row[card + action : card + action + run]),
                r.read_revision(row[card + action + run :]),
            )
            for row in self._queued(page, queue, whole=True)
        ]

    def count_open(self, queue: Queue, most: int) -> int:
        names, values = _fixed(queue)
        counted = s.queued(names, after=False)
        return self._count(s.Statement(f"SELECT count(*) FROM ({counted.sql})", ()), *values, most)  # noqa: S608 - ours

    def _queued(self, page: Page, queue: Queue, *, whole: bool) -> Iterable[r.Row]:
        names, values = _fixed(queue)
        if page.after is None:
            return self._connection.execute(s.queued(names, after=False, whole=whole).sql, (*values, page.limit))
        after = pack(page.after)
        place = self._connection.execute(s.INTERRUPT_PLACE.sql, (after,)).fetchone()
        if place is None:
            return ()
        statement = s.queued(names, after=True, whole=whole)
        return self._connection.execute(statement.sql, (*values, *place, after, page.limit))

    def due_interrupts(self, now: datetime, limit: int) -> Sequence[Interrupt]:
        return self._all(s.DUE_INTERRUPTS, r.read_interrupt, micros(now), limit)

    def decision(self, decision: DecisionId) -> Decision | None:
        return self._one(s.DECISION, r.read_decision, pack(decision))

    def decisions_of_action(self, action: ActionId) -> Sequence[Decision]:
        return self._all(s.DECISIONS_OF_ACTION, r.read_decision, pack(action))

    # Who may come in, and what they have looked at.

    def credential(self, credential: CredentialId) -> Credential | None:
        return self._one(s.CREDENTIAL, access.read_credential, pack(credential))

    def credentials(self, kind: CredentialKind, page: Page) -> Sequence[Credential]:
        if page.after is None:
            return self._all(s.CREDENTIALS, access.read_credential, kind.value, page.limit)
        after = pack(page.after)
        place = self._connection.execute(s.CREDENTIAL_PLACE.sql, (after,)).fetchone()
        if place is None:
            return []
        return self._all(s.CREDENTIALS_AFTER, access.read_credential, kind.value, place[0], after, page.limit)

    def sessions_from(self, login: CredentialId) -> Sequence[Credential]:
        return self._all(s.SESSIONS_FROM, access.read_credential, pack(login))

    def openings(self, interrupt: InterruptId, by: str) -> Sequence[Opening]:
        return self._all(s.OPENINGS, access.read_opening, pack(interrupt), by)

    # Events and work.

    def events(self, run: RunId | None, page: Page) -> Sequence[tuple[int, Event]]:
        after = position(page)
        if run is None:
            found = self._connection.execute(s.EVENTS.sql, (after, page.limit))
        else:
            found = self._connection.execute(s.EVENTS_OF_RUN.sql, (after, pack(run), page.limit))
        return [(row[0], read_event(row[1:], self._namespace)) for row in found]

    def last_event(self) -> int:
        return self._connection.execute(s.LAST_POSITION.sql).fetchone()[0] or 0

    def free_calls(self, run: RunId) -> Sequence[Event]:
        found = self._connection.execute(s.FREE_CALLS.sql, (pack(run),))
        return [read_event(row, self._namespace) for row in found]

    def work(self, work: str) -> Work | None:
        return self._one(s.WORK, r.read_work, pack(work))

    def due_work(self, now: datetime, limit: int) -> Sequence[Work]:
        at = micros(now)
        return self._all(s.DUE_WORK, r.read_work, at, at, limit)

    def work_of_process(self, process: ProcessId) -> Sequence[Work]:
        return self._all(s.WORK_OF_PROCESS, r.read_work, pack(process))

    def poison_work(self, page: Page) -> Sequence[Work]:
        if page.after is None:
            return self._all(s.POISON_WORK, r.read_work, page.limit)
        return self._all(s.POISON_WORK_AFTER, r.read_work, pack(page.after), page.limit)

    def _count(self, statement: s.Statement, *values: Any) -> int:
        return int(self._connection.execute(statement.sql, values).fetchone()[0])

    def _one(self, statement: s.Statement, read: Callable[[r.Row], T], *values: Any) -> T | None:
        row = self._connection.execute(statement.sql, values).fetchone()
        return None if row is None else read(row)

    def _all(self, statement: s.Statement, read: Callable[[r.Row], T], *values: Any) -> list[T]:
        return [read(row) for row in self._connection.execute(statement.sql, values)]
