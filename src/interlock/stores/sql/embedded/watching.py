"""Noticing the commits of other processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress


class OtherCommits:
    """Asks SQLite whether anything was committed, on a connection of its own that is opened when first asked.

    One thread at a time may ask.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._closed = False
        self._version = 0
        self.connection: sqlite3.Connection | None = None

    def __call__(self) -> bool:
        """Whether there was a commit since the last call, by anybody. Never raises: it is a hint."""
        try:
            if self.connection is None:
                self.connection = self._connect()
                self._version = self._data_version(self.connection)
                return False
            before, self._version = self._version, self._data_version(self.connection)
            return self._version != before
        except sqlite3.Error:
            return not self._closed  # whoever looks now will be told what is wrong

    def close(self) -> None:
        """Close the connection; from now on nothing is ever new."""
        self._closed = True
        if self.connection is not None:
            with suppress(sqlite3.Error):
                self.connection.close()

    @staticmethod
    def _data_version(connection: sqlite3.Connection) -> int:
        return connection.execute("PRAGMA data_version").fetchone()[0]
