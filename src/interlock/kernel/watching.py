"""Tells subscribers that the store may have changed: one thread that waits, however many want to know."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from interlock.domain.errors import InterlockError

logger = logging.getLogger("interlock.kernel")

SLOW_POLL_S = 5.0
"""Subscribers are told at least so often, whether or not anything changed: a hint can be missed."""


class Watching:
    """Subscriptions over `wait_for_change`. The thread lives while there is a subscriber."""

    def __init__(self, wait: Callable[[float], bool]) -> None:
        self._wait = wait
        self._lock = threading.Lock()
        self._subscribers: dict[object, Callable[[], None]] = {}
        self._thread: threading.Thread | None = None

    def subscribe(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Have `tell` called, from another thread and at once, when something may have changed.

        It must be quick. Answers what ends the subscription.
        """
        key = object()
        with self._lock:
            self._subscribers[key] = tell
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="interlock-watching", daemon=True)
                self._thread.start()

        def end() -> None:
            with self._lock:
                self._subscribers.pop(key, None)

        return end

    def _watch(self) -> None:
        while True:
            try:
                self._wait(SLOW_POLL_S)
            except InterlockError as error:  # the store is closed: nothing changes any more
                logger.debug("watching ends: %s", error)
                with self._lock:
                    self._thread = None
                return
            with self._lock:
                told = list(self._subscribers.values())
                if not told:
                    self._thread = None
                    return
            for tell in told:
                tell()
