"""Writes what units answer, inside the transaction of a batch."""

# ruff: noqa: D102  the port says what each query answers

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

from interlock.domain.events import Event
from interlock.domain.ids import RunId
from interlock.ports.store import Change, Page
from interlock.stores.sql import access_rows as access
from interlock.stores.sql import rows as r
from interlock.stores.sql import statements as s
from interlock.stores.sql.embedded.reading import SqliteRows
from interlock.stores.sql.event_rows import event_row
from interlock.stores.sql.packing import pack
from interlock.stores.sql.times import instant

MOST_NUMBERS = 4096
"""Numbers of parts that are remembered."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A change as rows, made before the first of them is written: what cannot be encoded writes nothing."""

    written: list[tuple[s.Statement, list[r.Row]]]
    events: list[r.Row]


class WritableRows(SqliteRows):
    """Rows of a transaction that writes.

    Events are gathered and appended together, at the end of the batch or before somebody reads them:
    a batch of many small records is then one prepared statement.
    """

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], int], namespace: str) -> None:
        super().__init__(connection, clock, namespace)
        self._events: list[r.Row] = []
        self._wrote = False
        self._told = False
        self._at = 0
        self._numbers: dict[bytes, int] = {}

    def restart(self) -> None:
        """Another transaction has begun: read the clock, forget what the last one gathered."""
        self._at = self.read_clock()
        self._now = instant(self._at)
        self._events.clear()
        self._wrote = self._told = False

    def encode(self, change: Change[object]) -> Encoded:
        """The change as rows. Raises what encoding raises (`CanonicalError`, `TypeError`, …)."""
        written: list[tuple[s.Statement, list[r.Row]]] = []
        # Rows that others refer to come first. Most changes hold a few kinds only.
        if change.processes:
            written.append((s.PUT_PROCESS, [r.process_row(process) for process in change.processes]))
        if change.runs:
            written.append((s.PUT_RUN, [r.run_row(run) for run in change.runs]))
        if change.actions:
            written.append((s.PUT_ACTION, [r.action_row(action) for action in change.actions]))
        if change.revisions:
            written.append((s.ADD_REVISION, [r.revision_row(revision) for revision in change.revisions]))
        if change.interrupts:
            written.append((s.PUT_INTERRUPT, [r.interrupt_row(card) for card in change.interrupts]))
        if change.decisions:
            written.append((s.ADD_DECISION, [r.decision_row(decision) for decision in change.decisions]))
        if change.freezes or change.released:
            dropped = [(freeze.scope, freeze.name) for freeze in (*change.freezes, *change.released)]
            written.append((s.DROP_FREEZE, dropped))
            written.append((s.ADD_FREEZE, [r.freeze_row(freeze) for freeze in change.freezes]))
        if change.credentials:
            written.append((s.PUT_CREDENTIAL, [access.credential_row(one) for one in change.credentials]))
        if change.openings:
            written.append((s.ADD_OPENING, [access.opening_row(one) for one in change.openings]))
        if change.policies:
            written.append((s.PUT_POLICY, [r.policy_row(policy) for policy in change.policies]))
        if change.work:
            written.append((s.PUT_WORK, [r.work_row(work) for work in change.work]))
        if change.work_done:
            written.append((s.DROP_WORK, [(pack(work),) for work in change.work_done]))
        if change.blobs:
            written.append((s.ADD_BLOB, [(pack(digest), body) for digest, body in change.blobs.items()]))
        return Encoded(written, [event_row(event, self._namespace, self._at) for event in change.events])

    def write(self, encoded: Encoded) -> None:
        """Write the rows. After an `sqlite3.Error` the transaction must be rolled back."""
        for statement, rows in encoded.written:
            self._connection.executemany(statement.sql, self._with_numbers(rows, statement.parts))
        self._events += encoded.events
        self._wrote = self._wrote or bool(encoded.written)

    def finish(self) -> bool:
        """Write what was gathered, and the clock where no event tells it; False if there was nothing at all."""
        self._append_events()
        if self._wrote and not self._told:
            # Most transactions write an event, whose page is written anyway; only the others touch this one.
            self._connection.execute(s.SET_CLOCK.sql, (self._at,))
        return self._wrote or self._told

    def events(self, run: RunId | None, page: Page) -> Sequence[tuple[int, Event]]:
        self._append_events()
        return super().events(run, page)

    def last_event(self) -> int:
        self._append_events()
        return super().last_event()

    def free_calls(self, run: RunId) -> Sequence[Event]:
        self._append_events()
        return super().free_calls(run)

    def forget(self) -> None:
        """The transaction was rolled back: numbers that it gave to parts are free again."""
        self._numbers.clear()

    def _with_numbers(self, rows: list[r.Row], parts: tuple[int, ...]) -> list[r.Row]:
        """The rows with the numbers of their parts in place of the parts."""
        if not parts:
            return rows
        numbered: list[r.Row] = []
        for row in rows:
            values = list(row)
            for place in parts:
                values[place] = self._numbers.get(values[place]) or self._number(values[place])
            numbered.append(tuple(values))
        return numbered

    def _number(self, body: bytes) -> int:
        """The number of a part, which is added if it is new."""
        tag = int.from_bytes(sha256(body).digest()[:8], "big", signed=True)
        found = self._connection.execute(s.PART.sql, (tag, body)).fetchone()
        number: int = (
            found[0] if found else cast("int", self._connection.execute(s.ADD_PART.sql, (body, tag)).lastrowid)
        )
        if len(self._numbers) >= MOST_NUMBERS:
            self._numbers.clear()
        self._numbers[body] = number
        return number

    def _append_events(self) -> None:
        if self._events:
            self._connection.executemany(s.ADD_EVENT.sql, self._events)
            self._events.clear()
            self._told = True
