"""Where a page of events begins."""

from __future__ import annotations

from interlock.ports.store import Page
from interlock.stores.errors import bad_page

_LONGEST = 18
"""Digits of a position at most: it fits 64 bits."""


def position(page: Page) -> int:
    """The position after which the page begins (0: from the start). Raises `StoreError` `bad_page`."""
    if page.after is None:
        return 0
    if not (page.after.isascii() and page.after.isdigit() and len(page.after) <= _LONGEST):
        raise bad_page(page.after)
    return int(page.after)
