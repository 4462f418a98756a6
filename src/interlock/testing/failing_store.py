"""Stores that do something terrible: at one chosen call, or for good."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal, TypeVar

from interlock.domain.errors import StoreError
from interlock.ports.store import Rows, Store, Unit

R = TypeVar("R")

Moment = Literal["before", "after"]


class StoreAround:
    """A store around another: what wraps a store is one with something more to say about writing and reading."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    @property
    def namespace(self) -> str:
        """As the inner store's."""
        return self._inner.namespace

    @property
    def namespace_key(self) -> bytes:
        """As the inner store's."""
        return self._inner.namespace_key

    def wait_for_change(self, timeout: float) -> bool:
        """As the inner store's."""
        return self._inner.wait_for_change(timeout)

    def close(self) -> None:
        """As the inner store's."""
        self._inner.close()


class FailingStore(StoreAround):
    """Wraps a store, counts its calls (writes of each kind, `read`, `flush`) and acts at number `fail_at`.

    Calls are numbered from 1. `when="before"` acts before the call is carried out, `"after"` once it
    is durable and before the caller hears of it. `act` is what happens: it may raise, or kill the
    process (`lambda: os.kill(os.getpid(), signal.SIGKILL)`); by default it raises `StoreError`
    `injected`. With `fail_at=None` nothing happens, and `calls` tells how many calls there are to
    choose from. What `act` raises is raised by the call itself, not by its future.
    """

    def __init__(
        self,
        inner: Store,
        fail_at: int | None = None,
        when: Moment = "before",
        act: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(inner)
        self._fail_at = fail_at
        self._when: Moment = when
        self._act = act or _raise
        self._lock = threading.Lock()
        self._calls: list[tuple[int, str, str]] = []

    @property
    def calls(self) -> list[tuple[int, str, str]]:
        """Every call so far: its number, the method, and the name of the unit or query (where defined)."""
        with self._lock:
            return list(self._calls)

    def write(self, unit: Unit[R]) -> Future[R]:
        """Carry out a unit; counted."""
        return self._written("write", self._inner.write, unit)

    def write_soon(self, unit: Unit[R]) -> Future[R]:
        """Carry out a unit in company; counted."""
        return self._written("write_soon", self._inner.write_soon, unit)

    def _written(self, method: str, write: Callable[[Unit[R]], Future[R]], unit: Unit[R]) -> Future[R]:
        chosen = self._count(method, unit)
        if chosen and self._when == "before":
            self._act()
        future = write(unit)
        if chosen and self._when == "after":
            future.exception()  # waits; a unit that was refused has been carried out, too
            self._act()
        return future

    def write_later(self, unit: Unit[Any]) -> None:
        """Carry out a unit that nobody waits for; counted."""
        chosen = self._count("write_later", unit)
        if chosen and self._when == "before":
            self._act()
        self._inner.write_later(unit)
        if chosen and self._when == "after":
            self._inner.flush()
            self._act()

    def read(self, query: Callable[[Rows], R]) -> R:
        """Answer a query; counted."""
        chosen = self._count("read", query)
        if chosen and self._when == "before":
            self._act()
        answer = self._inner.read(query)
        if chosen and self._when == "after":
            self._act()
        return answer

    def flush(self) -> None:
        """Wait for what was given to `write_later`; counted."""
        chosen = self._count("flush", None)
        if chosen and self._when == "before":
            self._act()
        self._inner.flush()
        if chosen and self._when == "after":
            self._act()

    def _count(self, method: str, called: object) -> bool:
        label = "" if called is None else getattr(called, "__qualname__", type(called).__qualname__)
        with self._lock:
            number = len(self._calls) + 1
            self._calls.append((number, method, label.replace(".<locals>", "")))
        return number == self._fail_at


class CutStore(StoreAround):
    """Wraps a store; from `cut` on its process reaches it no more, as if it had died: no rows and no beats arrive."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._gone = False

    def cut(self) -> None:
        """Cut the line."""
        self._gone = True

    def write(self, unit: Unit[R]) -> Future[R]:
        """Carry out a unit, unless cut off."""
        return self._reached().write(unit)

    def write_soon(self, unit: Unit[R]) -> Future[R]:
        """Carry out a unit in company, unless cut off."""
        return self._reached().write_soon(unit)

    def write_later(self, unit: Unit[Any]) -> None:
        """Carry out a unit that nobody waits for, unless cut off."""
        self._reached().write_later(unit)

    def read(self, query: Callable[[Rows], R]) -> R:
        """Answer a query, unless cut off."""
        return self._reached().read(query)

    def flush(self) -> None:
        """As the inner store's; nothing where cut off."""
        if not self._gone:
            self._inner.flush()

    def _reached(self) -> Store:
        if self._gone:
            raise StoreError("injected", "this process is cut off from its store", "Nothing to mend: a test asked.")
        return self._inner


def _raise() -> None:
    raise StoreError("injected", "the store failed on purpose", "Nothing to mend: a test asked for it.")
