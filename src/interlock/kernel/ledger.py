"""Reading the ledger of a whole store, from either end, page by page; never all of it at once."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.domain.events import Event
from interlock.domain.ids import RunId
from interlock.ports.store import Page, Rows, Store

Recorded = tuple[int, Event]
"""An event with its position in the order of the commits."""

PAGE = 500


def forwards(store: Store, run: RunId | None = None, after: str | None = None) -> Iterator[Recorded]:
    """Every event behind `after` (from the start where None), the oldest first."""
    while page := store.read(lambda rows: tuple(rows.events(run, Page(PAGE, after)))):  # noqa: B023  read at once
        yield from page
        after = str(page[-1][0])


def backwards(store: Store) -> Iterator[Recorded]:
    """Every event of the store, the newest first."""
    below = store.read(last_position) + 1
    while below > 1:
        start = max(0, below - 1 - PAGE)
        page = store.read(lambda rows: rows.events(None, Page(PAGE, str(start))))  # noqa: B023  read at once
        yield from reversed([each for each in page if each[0] < below])
        below = start + 1


def last_position(rows: Rows) -> int:
    """The position of the newest event, 0 where there is none.

    Found by halving, as positions grow and a page says which is the next one behind any number: some 20 looks at
    an index, and no other way to read than every store has.
    """
    step, known = 1, 0
    while found := _next(rows, known + step):
        known, step = found, step * 2
    low, high = known, known + step
    while found := _next(rows, low):
        middle = max(low, (found + high) // 2)
        behind = _next(rows, middle)
        if behind:
            low = behind
        else:
            low, high = found, max(middle, found)
    return low


def _next(rows: Rows, position: int) -> int:
    """The position of the next event behind this one, 0 where there is none."""
    found = rows.events(None, Page(1, str(position)))
    return found[0][0] if found else 0
