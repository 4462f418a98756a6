"""Telling those who wait that something may have been committed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LOOK_EVERY_S = 0.005
"""How often the commits of other processes are looked for while somebody waits."""


class Changes:
    """Counts changes and lets any number of threads wait for the next.

    A change between two waits of one thread is not missed by it: the second returns at once. `look`
    says whether another process has committed since it was last asked; one of the waiting threads
    asks it every 5 ms for all of them, and nobody does while nobody waits.
    """

    def __init__(self, look: Callable[[], bool] | None = None) -> None:
        self._look = look
        self._changed = threading.Condition(threading.Lock())
        self._count = 0
        self._somebody_looks = False
        self._open = True
        self._seen = threading.local()

    def tell(self) -> None:
        """Something was committed."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let everybody go: there will be no more changes."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def wait(self, timeout: float) -> bool:
        """Block until there was a change, at most `timeout` seconds; whether there was one."""
        deadline = time.monotonic() + timeout
        looks = False
        with self._changed:
            seen = getattr(self._seen, "count", self._count)
            try:
                while self._open and self._count == seen:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        break
                    if self._look is not None and not self._somebody_looks:
                        self._somebody_looks = looks = True
                    if looks:
                        self._look_for_others()
                        if self._count != seen:
                            break
                    self._changed.wait(min(left, LOOK_EVERY_S) if looks else left)
            finally:
                if looks:
                    self._somebody_looks = False
                    self._changed.notify_all()  # another of the waiting takes over
            self._seen.count = self._count
            return self._count != seen

    def _look_for_others(self) -> None:
        # The lock is not held while the database is asked.
        self._changed.release()
        try:
            found = self._look is not None and self._look()
        finally:
            self._changed.acquire()
        if found:
            self._count += 1
            self._changed.notify_all()
