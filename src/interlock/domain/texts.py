"""Counts and lengths of time as people say them, for the words that the record keeps."""

from __future__ import annotations

from datetime import timedelta


def plural(count: int, noun: str) -> str:
    """A count with its noun: `1 action`, `3 actions`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def length(span: timedelta) -> str:
    """A length of time in its two largest units: `2 days 3 hours`, `90 minutes` as `1 hour 30 minutes`."""
    seconds = round(span.total_seconds())
    said: list[str] = []
    for noun, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            said.append(plural(count, noun))
    return " ".join(said[:2]) or "0 seconds"
