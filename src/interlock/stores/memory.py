"""Rows in the memory of this process: for tests and trials. Nothing outlives it."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any, TypeVar

from interlock.canonical import canonical_bytes
from interlock.domain.errors import InterlockError, StoreError
from interlock.ports.store import Change, Rows, Unit
from interlock.stores.changes import Changes
from interlock.stores.errors import closed, forked
from interlock.stores.forks import watch
from interlock.stores.shelf import MemoryRows, Shelf

R = TypeVar("R")

logger = logging.getLogger("interlock.stores")


class MemoryStore:
    """A `Store` in the memory of one process, with the contract of the others.

    Units run at once, in the thread of their caller, one after the other; the futures that `write`
    returns are resolved. `clock` returns an aware datetime (the machine's clock if None).
    """

    def __init__(self, namespace: str = "default", clock: Callable[[], datetime] | None = None) -> None:
        self._namespace = namespace
        self._namespace_key = secrets.token_bytes(32)
        self._clock = clock or _machine_clock
        self._lock = threading.RLock()
        self._shelf = Shelf()
        self._changes = Changes()
        self._shut: Callable[[str], StoreError] | None = None
        watch(self)

    @property
    def namespace(self) -> str:
        """The name under which events are recorded."""
        return self._namespace

    @property
    def namespace_key(self) -> bytes:
        """32 secret bytes, made with the store."""
        return self._namespace_key

    def write(self, unit: Unit[R]) -> Future[R]:
        """Carry out a unit; the future is resolved when this returns."""
        future: Future[R] = Future()
        future.set_running_or_notify_cancel()
        self._check()
        try:
            change = self._carry_out(unit)
        except Exception as error:  # noqa: BLE001  whatever it is belongs to the asker
            future.set_exception(error)
        else:
            self._changes.tell()
            if change.refusal is not None:
                future.set_exception(change.refusal)
            else:
                future.set_result(change.reply)
        return future

    def write_soon(self, unit: Unit[R]) -> Future[R]:
        """The same as `write`: here nothing is gained by company."""
        return self.write(unit)

    def write_later(self, unit: Unit[Any]) -> None:
        """Carry out a unit that nobody waits for: here at once."""
        self._check()
        try:
            self._carry_out(unit)
        except InterlockError:
            pass  # refused, and nobody asked
        except Exception:
            logger.exception("a record is lost: its unit failed")
        else:
            self._changes.tell()

    def read(self, query: Callable[[Rows], R]) -> R:
        """Answer a query from one snapshot; writes go on meanwhile, on copies."""
        self._check()
        with self._lock:
            shelf = self._shelf
            shelf.readers += 1
        try:
            return query(MemoryRows(shelf, max(self._clock().astimezone(UTC), shelf.latest)))
        finally:
            with self._lock:
                shelf.readers -= 1

    def flush(self) -> None:
        """Nothing waits."""
        self._check()

    def wait_for_change(self, timeout: float) -> bool:
        """Block until something was committed since this thread last waited."""
        self._check()
        return self._changes.wait(timeout)

    def close(self) -> None:
        """Refuse everything from now on. Closing twice is fine."""
        if self._shut is None:
            self._shut = closed
            self._changes.end()

    def after_fork(self) -> None:
        """In a child process: refuse everything; its copy would be another store."""
        self._shut = forked

    def _carry_out(self, unit: Unit[R]) -> Change[R]:
        with self._lock:
            now = max(self._clock().astimezone(UTC), self._shelf.latest)
            change = unit(MemoryRows(self._shelf, now))
            for event in change.events:
                canonical_bytes(event.envelope(self._namespace), root="event")  # refuses what has no leaf
            self._shelf.check(change)
            if self._shelf.readers:
                self._shelf = self._shelf.copy()
            self._shelf.put(change, now)
        return change

    def _check(self) -> None:
        if self._shut is not None:
            raise self._shut("in memory")


def _machine_clock() -> datetime:
    return datetime.now(UTC)
