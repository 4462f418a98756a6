"""A clock that stands still until it is told otherwise."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta


class ManualClock:
    """Called, it says the time: aware, UTC. It moves only by `advance` and `set`; any thread may call it."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._lock = threading.Lock()
        self._now = start.astimezone(UTC)

    def __call__(self) -> datetime:
        """The time."""
        with self._lock:
            return self._now

    def advance(self, by: timedelta) -> datetime:
        """Move by a span (backwards where it is negative) and say the time then."""
        with self._lock:
            self._now += by
            return self._now

    def set(self, now: datetime) -> None:
        """Jump to an instant (aware)."""
        with self._lock:
            self._now = now.astimezone(UTC)
