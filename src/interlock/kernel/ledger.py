"""Reading the ledger of a whole store, from either end, page by page; never all of it at once."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.domain.events import Event
from interlock.domain.ids import RunId
from interlock.ports.store import Page, Store

Recorded = tuple[int, Event]
"""An event with its position in the order of the commits."""

PAGE = 500


def forwards(store: Store, run: RunId | None = None, after: str | None = None) -> Iterator[Recorded]:
    """Every event behind `after` (from the start where None), the oldest first."""
    while page := store.read(lambda rows: tuple(rows.events(run, Page(PAGE, after)))):  # noqa: B023  read at once
        yield from page
        after = str(page[-1][0])


def backwards(store: Store, under: int | None = None) -> Iterator[Recorded]:
    """Every event of the store, the newest first; only those under a position where one is given."""
    newest = store.read(lambda rows: rows.last_event()) + 1
    below = newest if under is None else min(newest, under)
    while below > 1:
        start = max(0, below - 1 - PAGE)
        page = store.read(lambda rows: rows.events(None, Page(PAGE, str(start))))  # noqa: B023  read at once
        yield from reversed([each for each in page if each[0] < below])
        below = start + 1
