"""Noticing the commits of other processes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from interlock.stores.sql.embedded.signs import LOOK_EVERY_S, Signs, signs_of


class OtherCommits:
    """Asks SQLite whether anything was committed, on a connection of its own that is opened when first asked.

    `path` is the database. One thread at a time may ask, and sleep until it is worth while to ask again.
    """

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._connect = connect
        self._closed = False
        self._version = 0
        self._signs: Signs | None = None
        self.connection: sqlite3.Connection | None = None

    def __call__(self) -> bool:
        """Whether there was a commit since the last call, by anybody. Never raises: it is a hint."""
        try:
            if self.connection is None:
                self.connection = self._connect()
                self._signs = signs_of(self._log)
                self._version = self._data_version(self.connection)
                return False
            before, self._version = self._version, self._data_version(self.connection)
            return self._version != before
        except sqlite3.Error:
            return not self._closed  # whoever looks now will be told what is wrong

    def sleep(self, seconds: float) -> None:
        """Sleep until it may be worth while to ask, or somebody rouses; at most for so many seconds."""
        if self._signs is not None:
            self._signs.sleep(seconds)
        else:
            time.sleep(min(seconds, LOOK_EVERY_S))  # the connection could not be opened, yet

    def rouse(self) -> None:
        """Have whoever sleeps here look at once."""
        if self._signs is not None:
            self._signs.rouse()

    def close(self) -> None:
        """Close the connection, once nobody sleeps here; from now on nothing is ever new."""
        self._closed = True
        if self._signs is not None:
            self._signs.close()
        if self.connection is not None:
            with suppress(sqlite3.Error):
                self.connection.close()

    @staticmethod
    def _data_version(connection: sqlite3.Connection) -> int:
        return connection.execute("PRAGMA data_version").fetchone()[0]
