"""Opening a database file: its folder, its mode, its settings."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from interlock.domain.errors import StoreError
from interlock.stores.sql.embedded.errors import is_busy, missing

WAL_PAGES = 8000
"""Pages after which SQLite checkpoints inside a commit: only a net, the writer does it between commits."""

OPEN_MODE = "rw"
"""A file is made by `prepare`, never by opening it."""

_MAKING = threading.Lock()


def prepare(path: Path, create: bool) -> None:
    """Make the file (mode 0600) and its folder (0700) where they are missing.

    Raises `StoreError` `store_missing` where they cannot be made, or may not be (`create` False).
    """
    # A file descriptor of ours that is closed drops the locks of the whole process on that file, SQLite's
    # too: so nobody may open a connection to a file while it is being made, and existing ones are not opened.
    with _MAKING:
        if path.exists():
            return
        if not create:
            raise missing(str(path))
        try:
            if not path.parent.exists():
                path.parent.mkdir(mode=0o700, parents=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            return  # another process was quicker
        except OSError as error:
            raise missing(str(path)) from error


def connect(path: Path, busy_s: float) -> sqlite3.Connection:
    """A connection in autocommit mode, for use by any one thread at a time. Never makes a file."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={OPEN_MODE}",
        uri=True,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def connect_writer(path: Path, patience_s: float) -> sqlite3.Connection:
    """The connection that writes: WAL, and every commit on the disk before it is acknowledged."""
    connection = connect(path, patience_s)
    try:
        _use_wal(connection, path, time.monotonic() + patience_s)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        # A log that has grown beyond this is cut back when it starts again from its beginning.
        connection.execute(f"PRAGMA journal_size_limit = {4 * WAL_PAGES * 4096}")
    except BaseException:
        connection.close()
        raise
    return connection


def look_often(connection: sqlite3.Connection) -> None:
    """Leave the waiting for other processes to `begin`."""
    connection.execute("PRAGMA busy_timeout = 4")


def connect_reader(path: Path, busy_s: float) -> sqlite3.Connection:
    """A connection that reads, and cannot do anything else."""
    connection = connect(path, busy_s)
    connection.execute("PRAGMA query_only = ON")
    return connection


def begin(connection: sqlite3.Connection, patience_s: float) -> None:
    """Begin a transaction that may write, waiting at most this long for other processes.

    SQLite's own waiting looks ever more seldom, up to every 100 ms: beside a process that writes
    without a pause it would starve. So it waits for a few milliseconds, and this loop for the rest.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
        else:
            return


def roll_back(connection: sqlite3.Connection) -> None:
    """End the transaction, if SQLite has not done so already."""
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _use_wal(connection: sqlite3.Connection, path: Path, deadline: float) -> None:
    # Going over to WAL needs the file alone, and SQLite does not always wait for that by itself.
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.Error as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.005)
            continue
        if mode != "wal":
            raise StoreError(
                "store_no_wal",
                f"the file system under {path} does not allow SQLite's write-ahead log",
                "Put the store on a local disk.",
            )
        return
