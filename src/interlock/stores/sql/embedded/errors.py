"""What SQLite says, in our words: a code that stays, one line, and the mend."""

from __future__ import annotations

import sqlite3

from interlock.domain.errors import StoreError
from interlock.stores.errors import closed, inconsistent

_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SHORT_READ = sqlite3.SQLITE_IOERR_SHORT_READ

PASSING = frozenset({"store_locked", "store_read_only", "store_full", "store_io", "store_corrupt", "store_missing"})
"""Codes that speak of the store's surroundings, not of the unit: what waits may be tried again."""


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the lock: trying again is what helps."""
    return _code(error) & 0xFF in _LOCKED


def store_error(error: BaseException, path: str) -> StoreError:
    """The error to raise for what the driver raised (its cause); never an acknowledgement of anything."""
    told = _told(error, path)
    told.__cause__ = error
    return told


def _told(error: BaseException, path: str) -> StoreError:
    code = _code(error)
    primary = code & 0xFF
    if primary in _LOCKED:
        return StoreError(
            "store_locked",
            f"another process has held the store {path} for too long",
            "Find the process that writes to it without end, or give the store a longer busy_timeout_s.",
        )
    if primary in _READ_ONLY:
        return StoreError(
            "store_read_only",
            f"the store {path} cannot be written",
            "Make the file and its folder writable for this user.",
        )
    if primary == sqlite3.SQLITE_FULL:
        return StoreError(
            "store_full", f"there is no room left for the store {path}", "Free space on its disk; nothing was changed."
        )
    if primary in _CORRUPT or code == _SHORT_READ:
        return corrupt(path, str(error))
    if primary == sqlite3.SQLITE_CANTOPEN:
        return missing(path)
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return inconsistent(str(error))
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return closed(path)
    if primary == sqlite3.SQLITE_IOERR:
        return StoreError(
            "store_io", f"the disk failed under the store {path} ({error})", "Check the disk and the file system."
        )
    return StoreError(
        "store_failed", f"the store {path} failed ({error})", "Please report this with the whole traceback."
    )


def corrupt(path: str, why: str) -> StoreError:
    """The file is damaged, or no database of ours."""
    return StoreError(
        "store_corrupt",
        f"{path} is damaged or not a store of Interlock ({why})",
        "Restore it from a backup, or name another file; nothing was changed.",
    )


def missing(path: str) -> StoreError:
    """The file, or the folder it should stand in, is not there and cannot be made."""
    return StoreError(
        "store_missing",
        f"there is no store at {path}, and none can be made there",
        "Make its folder, or name another file.",
    )


def _code(error: BaseException) -> int:
    # Errors that the driver raises without asking SQLite (a closed connection, say) have no code.
    return getattr(error, "sqlite_errorcode", 0)
