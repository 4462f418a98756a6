"""Telling those who wait that something may have been committed."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Others(Protocol):
    """Who can tell of the commits of other processes. One thread at a time asks, and sleeps there."""

    def __call__(self) -> bool:
        """Whether another process has committed since this was last asked."""
        ...

    def sleep(self, seconds: float) -> None:
        """Sleep until it may be worth while to ask, or somebody rouses; at most for so many seconds."""
        ...

    def rouse(self) -> None:
        """End the sleep, or the next one if nobody sleeps."""
        ...


class Changes:
    """Counts changes and lets any number of threads wait for the next.

    A change between two waits of one thread is not missed by it: the second returns at once. Where there are `others`,
    one of the waiting threads looks after their commits for all of them, and nobody does while nobody waits.
    """

    def __init__(self, others: Others | None = None) -> None:
        self._others = others
        self._changed = threading.Condition(threading.Lock())
        self._count = 0
        self._somebody_looks = False
        self._open = True
        self._seen = threading.local()

    def tell(self) -> None:
        """Something was committed."""
        with self._changed:
            self._count += 1
            self._wake()

    def end(self) -> None:
        """Let everybody go: there will be no more changes. Nobody looks after others when this returns."""
        with self._changed:
            self._open = False
            self._wake()
            self._changed.wait_for(lambda: not self._somebody_looks)

    def wait(self, timeout: float) -> bool:
        """Block until there was a change, at most `timeout` seconds; whether there was one."""
        deadline = time.monotonic() + timeout
        with self._changed:
            seen = getattr(self._seen, "count", self._count)
            while self._open and self._count == seen and (left := deadline - time.monotonic()) > 0:
                if self._others is None or self._somebody_looks:
                    self._changed.wait(left)
                else:
                    self._look_after(self._others, seen, deadline)
            self._seen.count = self._count
            return self._count != seen

    def _look_after(self, others: Others, seen: int, deadline: float) -> None:
        """Look after others until there is something new, for all who wait. The lock is not held meanwhile."""
        self._somebody_looks = True
        try:
            while self._open and self._count == seen and (left := deadline - time.monotonic()) > 0:
                self._changed.release()
                try:
                    found = others()
                finally:
                    self._changed.acquire()
                if found:
                    self._count += 1
                elif self._open and self._count == seen:
                    self._changed.release()
                    try:
                        others.sleep(left)
                    finally:
                        self._changed.acquire()
        finally:
            self._somebody_looks = False
            self._changed.notify_all()  # of what is new; and another of the waiting takes over

    def _wake(self) -> None:
        self._changed.notify_all()
        if self._somebody_looks and self._others is not None:
            self._others.rouse()
