"""The one writer: a thread that carries out units, many to a transaction.

A unit that arrives alone is committed at once; what arrives while a commit is on its way to the disk
shares the next one. There are no savepoints: a unit is asked for everything it wants to write before
anything of it is written, so a unit that fails has written nothing. What the database itself refuses
rolls the batch back, and its units run one by one, so that only the guilty fail.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from interlock.domain.errors import InterlockError, StoreError
from interlock.ports.store import Unit
from interlock.stores.errors import closed
from interlock.stores.sql.embedded.connect import begin, roll_back
from interlock.stores.sql.embedded.errors import PASSING, is_busy, store_error
from interlock.stores.sql.embedded.writing import WritableRows

logger = logging.getLogger("interlock.stores")

MAX_BATCH = 256
"""Units in one transaction at most: a bound on what is repeated after a failure."""
GATHER_S = 0.05
"""How long what nobody waits for is gathered."""
MAX_BUFFERED = 100_000
"""Records kept while the store cannot be written; beyond that the oldest are dropped and logged."""
COMMITS_PER_CHECKPOINT = 500
"""Commits (of some eight pages each) after which the log is copied into the database, between two batches."""
IDLE_S = 0.5
"""Quiet time after which a shorter log is copied, too."""
IDLE_COMMITS = 50
RETRY_S = 1.0
"""How long records wait for the next attempt where the store cannot be written."""
COMPANY_S = 0.0004
"""How long a batch waits for the writers that came with the last one: a small part of a disk sync."""


@dataclass(slots=True)
class Job:
    """A unit (None: only to be told when all before it is done) and who waits for it (None: nobody)."""

    unit: Unit[Any] | None
    future: Future[Any] | None
    outcome: Any = None
    error: BaseException | None = None

    def resolve(self) -> None:
        """Tell whoever waits. Only after the commit, or where nothing was committed."""
        try:
            if self.future is None:
                if self.error is not None and not isinstance(self.error, InterlockError):
                    logger.error("a record is lost: its unit failed", exc_info=self.error)
            elif self.error is not None:
                self.future.set_exception(self.error)
            else:
                self.future.set_result(self.outcome)
        except BaseException:  # a callback of the asker runs here, and may not end the writer
            logger.exception("a callback of a write failed")


class GroupCommit:
    """Owns the writing connection; everything but `put`, `put_later` and `stop` happens in its thread.

    `patience_s` is how long a transaction waits for other processes, `tell` is called after commits.
    """

    def __init__(
        self, connection: sqlite3.Connection, rows: WritableRows, path: str, patience_s: float, tell: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._rows = rows
        self._path = path
        self._patience_s = patience_s
        self._tell = tell
        self._jobs: deque[Job | Unit[Any]] = deque()  # bare units are records that nobody waits for
        self._wake = threading.Lock()  # the writer sleeps by acquiring it; releasing it wakes the writer
        self._wake.acquire()
        self._buffered = False  # records wait, and the writer knows it
        self._urgent = False  # somebody waits for an answer
        self._failing = False  # the last attempt found a store that cannot be written
        self._stopping = False
        self._company = 1  # how many came together last time
        self._commits = 0  # since the log was copied
        self._thread = threading.Thread(target=self._work, name="interlock-writer", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Carry out a job as soon as may be. The caller sees to it that nothing is put after `stop`."""
        self._jobs.append(job)
        self._urgent = True
        self._poke()

    def put_later(self, job: Job | Unit[Any]) -> None:
        """Carry out a job within 50 ms, or with the next urgent one; a bare unit costs the caller next to nothing."""
        self._jobs.append(job)
        if not self._buffered:
            self._buffered = True
            self._poke()

    def stop(self) -> None:
        """Carry out what waits, end the thread, close the connection."""
        self._stopping = True
        self._poke()
        # The last reference to a store may be dropped by a callback, which runs in this very thread.
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _poke(self) -> None:
        with suppress(RuntimeError):  # it is awake already
            self._wake.release()

    def _work(self) -> None:
        try:
            while self._wait_for_jobs():
                self._urgent = False
                self._carry_out()
                if self._commits >= COMMITS_PER_CHECKPOINT:
                    self._checkpoint()
        finally:
            self._connection.close()
            for job in self._take(len(self._jobs)):
                job.error = closed(self._path)
                job.resolve()

    def _wait_for_jobs(self) -> bool:
        """Sleep until there is something to do; False at the end."""
        while not self._jobs:
            # Cleared before the second look: a record that comes in between is seen here or wakes us.
            self._buffered = False
            if self._jobs:
                break
            if self._stopping:
                return False
            idle_s = IDLE_S if self._commits >= IDLE_COMMITS else -1
            if not self._wake.acquire(timeout=idle_s) and not self._jobs:
                self._checkpoint()
        if not self._urgent and not self._stopping and len(self._jobs) < MAX_BATCH:
            self._wake.acquire(timeout=RETRY_S if self._failing else GATHER_S)
        return True

    def _take(self, most: int) -> list[Job]:
        taken = [self._jobs.popleft() for _ in range(min(most, len(self._jobs)))]
        if self._jobs:
            self._urgent = True
        return [job if isinstance(job, Job) else Job(job, None) for job in taken]

    def _carry_out(self) -> None:
        """One transaction for what waits, and the answers."""
        self._wait_for_company()
        jobs = self._take(MAX_BATCH)
        try:
            if all(job.unit is None for job in jobs):
                wrote = False
            else:
                begin(self._connection, self._patience_s)
                jobs += self._take(MAX_BATCH - len(jobs))
                wrote = self._commit(jobs)
        except Exception as error:  # noqa: BLE001  whatever it is, the batch is undone and the guilty are found
            self._undo()
            wrote = self._one_by_one(jobs, error)
        self._company = len(jobs)
        self._failing = self._keep(jobs)
        if wrote:
            self._commits += 1
            self._tell()
        # Last, so that the writer is on its way to sleep when those who waited want to run.
        for job in jobs:
            job.resolve()

    def _wait_for_company(self) -> None:
        # Whoever was answered by the last commit is about to come again: one sync for all of them, not two.
        if self._company > 1:
            deadline = time.perf_counter() + COMPANY_S
            while len(self._jobs) < self._company and time.perf_counter() < deadline:
                time.sleep(0)

    def _commit(self, jobs: Sequence[Job]) -> bool:
        """Run the units in the transaction that was begun, and commit; whether anything was written."""
        rows = self._rows
        rows.restart()
        for job in jobs:
            if job.unit is None:
                continue
            try:
                change = job.unit(rows)
                encoded = rows.encode(change)
            except sqlite3.Error:
                raise
            except BaseException as error:  # noqa: BLE001  the unit's own; nothing of it is written yet
                job.error = error
                continue
            rows.write(encoded)
            job.outcome, job.error = change.reply, change.refusal
        wrote = rows.finish()
        self._connection.execute("COMMIT")
        return wrote

    def _one_by_one(self, jobs: Sequence[Job], error: Exception) -> bool:
        """The units of a batch that failed with `error`, each in a transaction of its own."""
        wrote = False
        # Who waited in vain for the lock has waited long enough.
        locked = isinstance(error, sqlite3.Error) and is_busy(error)
        stop = store_error(error, self._path) if locked or len(jobs) == 1 else None
        for job in jobs:
            job.outcome, job.error = None, stop
            if stop is not None or job.unit is None:
                continue
            try:
                begin(self._connection, self._patience_s)
                wrote = self._commit([job]) or wrote
            except Exception as again:  # noqa: BLE001  see above
                self._undo()
                job.outcome, job.error = None, store_error(again, self._path)
                # A store that cannot be written fails the others, too, and nothing may overtake a record
                # that is kept. Only what is too large for the room that is left may fail alone.
                if job.error.code in PASSING and (job.error.code != "store_full" or job.future is None):
                    stop = job.error
        return wrote

    def _undo(self) -> None:
        roll_back(self._connection)
        self._rows.forget()

    def _keep(self, jobs: list[Job]) -> bool:
        """Put the records that only the store's surroundings kept from being written back in line."""
        failed = [job for job in jobs if isinstance(job.error, StoreError) and job.error.code in PASSING]
        records = [job for job in failed if job.future is None]
        for job in records:
            job.error = None
        kept = [job.unit for job in records if job.unit is not None]
        room = 0 if self._stopping else max(MAX_BUFFERED - len(self._jobs), 0)
        if len(kept) > room:
            logger.error("%d records are lost: the store %s cannot be written", len(kept) - room, self._path)
            kept = kept[len(kept) - room :]
        self._jobs.extendleft(reversed(kept))
        return bool(failed)

    def _checkpoint(self) -> None:
        # Passive: it waits for nobody. It keeps the file of the log as large as it is, so that later
        # commits overwrite blocks that exist, which is quicker to sync than growing a file.
        self._commits = 0
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
