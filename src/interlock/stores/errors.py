"""What every store says in the same words."""

from __future__ import annotations

from interlock.domain.errors import StoreError


def closed(store: str) -> StoreError:
    """The store was closed before."""
    return StoreError("store_closed", f"the store {store} is closed", "Open it again.")


def forked(store: str) -> StoreError:
    """This process is a child that inherited the store."""
    return StoreError(
        "forked",
        f"the store {store} was opened by the parent process and cannot be used after a fork",
        "Open a store of its own in the child process.",
    )


def inconsistent(why: str) -> StoreError:
    """A change that no correct unit makes."""
    return StoreError(
        "store_inconsistent",
        f"a change does not fit what the store holds ({why})",
        "Rows may only name rows that are there or come with them, and nothing is added twice. Please report this.",
    )


def bad_page(given: str) -> StoreError:
    """A page that begins at no place."""
    return StoreError("bad_page", f"{given[:40]!r} is no position of an event", "Use a position that a listing gave.")
