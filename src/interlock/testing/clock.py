"""A clock that stands still until it is told otherwise."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.adapters.guard.tool import Duration


class ManualClock:
    """Called, it says the time: aware, UTC. It moves only by `advance` and `set`; any thread may call it."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._lock = threading.Lock()
        self._now = start.astimezone(UTC)

    def __call__(self) -> datetime:
        """The time."""
        with self._lock:
            return self._now

    def advance(self, by: Duration) -> datetime:
        """Move by a span, a `timedelta` or text such as `"25h"` (backwards where it is negative); says the time then.

        Raises `SettingsError` `bad_duration` for what is none. Nothing else happens: what is due by the new time
        (a card that expires, say) happens when a worker or a decision looks, as it does in operation.
        """
        from interlock.adapters.guard.tool import duration

        length = duration("clock.advance", "by", {"by": by}) or timedelta()
        with self._lock:
            self._now += length
            return self._now

    def set(self, now: datetime) -> None:
        """Jump to an instant (aware)."""
        with self._lock:
            self._now = now.astimezone(UTC)
