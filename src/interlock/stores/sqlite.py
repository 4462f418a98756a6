"""Rows in an SQLite file: the embedded default, for any number of processes on one machine."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import finalize

from interlock.domain.errors import StoreError
from interlock.ports.store import Rows, Unit
from interlock.stores.changes import Changes
from interlock.stores.errors import closed, forked
from interlock.stores.forks import keep_for_ever, watch
from interlock.stores.sql import statements as s
from interlock.stores.sql.embedded.connect import (
    begin,
    connect_reader,
    connect_writer,
    look_often,
    prepare,
    roll_back,
)
from interlock.stores.sql.embedded.errors import store_error
from interlock.stores.sql.embedded.group_commit import GroupCommit, Job
from interlock.stores.sql.embedded.migrate import check, migrate, migrations, version
from interlock.stores.sql.embedded.reading import SqliteRows
from interlock.stores.sql.embedded.watching import OtherCommits
from interlock.stores.sql.embedded.writing import WritableRows
from interlock.stores.sql.times import micros

R = TypeVar("R")

IDLE_READERS = 4
"""Reading connections that are kept open; more are opened when more threads read at once."""


class SqliteStore:
    """A `Store` in one SQLite file (WAL, every commit synced before it is acknowledged).

    `path` is the file; it is made with mode 0600, and its folder with 0700, where they are missing
    (`create=False`: then it must be there). A file belongs to one `namespace`, the one of its first
    opening. `clock` returns an aware datetime (the machine's clock if None). `busy_timeout_s` is how
    long a write, a read or the opening waits for other processes.

    Raises `StoreError`: `store_missing`, `store_locked`, `store_read_only`, `store_full`,
    `store_corrupt`, `store_too_new`, `store_too_old`, `store_other_namespace`, `store_no_wal`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        namespace: str = "default",
        clock: Callable[[], datetime] | None = None,
        *,
        busy_timeout_s: float = 10.0,
        create: bool = True,
    ) -> None:
        self._path = Path(os.fspath(path)).absolute()
        self._namespace = namespace
        self._clock = _micros_of(clock or _machine_clock)
        self._busy_timeout_s = busy_timeout_s
        self._shut: Callable[[str], StoreError] | None = None
        self._lock = threading.Lock()
        self._idle: deque[sqlite3.Connection] = deque()
        self._others = OtherCommits(self._path, partial(connect_reader, self._path, busy_timeout_s))
        self._changes = Changes(self._others)
        prepare(self._path, create)
        self._connection, self._namespace_key = self._open()
        opened = self._path.stat()
        self._file = (opened.st_dev, opened.st_ino)
        rows = WritableRows(self._connection, self._clock, namespace)
        self._writer = GroupCommit(self._connection, rows, str(self._path), busy_timeout_s, self._changes.tell)
        # Also at exit, and when the store is forgotten without having been closed.
        self._end = finalize(self, _release, self._writer, self._changes, self._others, self._idle)
        watch(self)

    @property
    def namespace(self) -> str:
        """The name under which events are recorded."""
        return self._namespace

    @property
    def namespace_key(self) -> bytes:
        """32 secret bytes, made at the first opening of the file."""
        return self._namespace_key

    def write(self, unit: Unit[R]) -> Future[R]:
        """Carry out a unit and commit it durably, together with whatever else waits.

        The future cannot be cancelled: what was handed over is carried out. Its callbacks run in the
        writer's thread and should be quick.
        """
        return self._hand_over(unit, soon=False)

    def write_soon(self, unit: Unit[R]) -> Future[R]:
        """Carry out a unit with the next `write`, or within 50 ms. What `write` says of its future holds here, too."""
        return self._hand_over(unit, soon=True)

    def _hand_over(self, unit: Unit[R], *, soon: bool) -> Future[R]:
        future: Future[R] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            self._check()
            self._check_file()
            put = self._writer.put_later if soon else self._writer.put
            put(Job(unit, future))
        return future

    def _check_file(self) -> None:
        """Refuse to go on in a file that has lost its name: nobody else would ever see what is written there."""
        try:
            found = self._path.stat()
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._file:
            raise StoreError(
                "store_gone",
                f"{self._path} was removed or replaced while it was in use",
                "Put it back and start again.",
            )

    def write_later(self, unit: Unit[Any]) -> None:
        """Carry out a unit within 50 ms, or before the next `write`."""
        if self._shut is not None:
            self._check()
        self._writer.put_later(unit)

    def read(self, query: Callable[[Rows], R]) -> R:
        """Answer a query from one snapshot."""
        self._check()
        connection = None
        try:
            connection = self._reader()
            connection.execute("BEGIN")
            try:
                return query(SqliteRows(connection, self._clock, self._namespace))
            finally:
                roll_back(connection)
        except sqlite3.Error as error:
            raise store_error(error, str(self._path)) from error
        finally:
            if connection is not None:
                self._give_back(connection)

    def about(self) -> dict[str, str]:
        """What an operator asks of the file: its schema, its journal mode, its size, and SQLite's version."""
        self._check()
        connection = connect_reader(self._path, self._busy_timeout_s)
        try:
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            number = version(connection, str(self._path))
        except sqlite3.Error as error:
            raise store_error(error, str(self._path)) from error
        finally:
            connection.close()
        size = f"{self._path.stat().st_size / (1 << 20):,.1f} MiB"
        return {"schema": str(number), "journal": mode, "size": size, "SQLite": sqlite3.sqlite_version}

    def flush(self) -> None:
        """Wait until everything given to `write_soon` and `write_later` so far is committed."""
        future: Future[None] = Future()
        with self._lock:
            self._check()
            self._writer.put(Job(None, future))
        future.result()

    def wait_for_change(self, timeout: float) -> bool:
        """Block until something may have been committed since this thread last waited."""
        self._check()
        return self._changes.wait(timeout)

    def close(self) -> None:
        """Commit what waits and release everything. Closing twice is fine."""
        if self._shut is None:
            with self._lock:
                self._shut = closed
            self._end()

    def after_fork(self) -> None:
        """In a child process: refuse everything, and leave alone what belongs to the parent."""
        self._shut = forked
        self._end.detach()
        for connection in (self._connection, self._others.connection, *self._idle):
            keep_for_ever(connection)

    def _check(self) -> None:
        if self._shut is not None:
            raise self._shut(str(self._path))

    def _open(self) -> tuple[sqlite3.Connection, bytes]:
        """The writing connection to a store of this code's schema, and the store's key."""
        connection = None
        try:
            connection = connect_writer(self._path, self._busy_timeout_s)
            self._bring_up_to_date(connection)
            self._check_namespace(connection)
            (key,) = connection.execute(s.META.sql, ("namespace_key",)).fetchone()
            look_often(connection)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, sqlite3.Error):
                raise store_error(error, str(self._path)) from error
            raise
        return connection, key

    def _bring_up_to_date(self, connection: sqlite3.Connection) -> None:
        path, steps = str(self._path), migrations()
        connection.execute("BEGIN")
        try:
            number = version(connection, path)
        finally:
            roll_back(connection)
        check(number, path, steps)
        if number == steps[-1].number:
            return
        begin(connection, self._busy_timeout_s)
        try:
            # Another process may have been quicker: it looks again, now that it is alone.
            migrate(connection, path, self._namespace, self._clock(), steps)
            connection.execute("COMMIT")
        finally:
            roll_back(connection)

    def _check_namespace(self, connection: sqlite3.Connection) -> None:
        (bound,) = connection.execute(s.META.sql, ("namespace",)).fetchone()
        if bound != self._namespace.encode():
            raise StoreError(
                "store_other_namespace",
                f"the store {self._path} belongs to the namespace {bound.decode()!r}",
                "Open it under that name, or use another file.",
            )

    def _reader(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return connect_reader(self._path, self._busy_timeout_s)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._shut is None and len(self._idle) < IDLE_READERS:
            self._idle.append(connection)
            if self._shut is None:
                return
            # Closed in between, perhaps before it saw this one.
            with suppress(ValueError):
                self._idle.remove(connection)
        connection.close()


def _release(writer: GroupCommit, changes: Changes, others: OtherCommits, idle: deque[sqlite3.Connection]) -> None:
    writer.stop()
    changes.end()
    others.close()
    while idle:
        idle.pop().close()


def _machine_clock() -> datetime:
    return datetime.now(UTC)


def _micros_of(clock: Callable[[], datetime]) -> Callable[[], int]:
    return lambda: micros(clock())
