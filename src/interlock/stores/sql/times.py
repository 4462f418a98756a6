"""Times as integers: microseconds since the epoch, exact both ways."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def micros(at: datetime) -> int:
    """Microseconds since the epoch. Raises `TypeError` for a naive datetime."""
    return (at - _EPOCH) // MICROSECOND


def instant(at: int) -> datetime:
    """The aware UTC datetime of microseconds since the epoch."""
    return _EPOCH + timedelta(0, 0, at)
