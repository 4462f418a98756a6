"""Brings a database to the schema of this code: plain files, one transaction, one row for each."""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from interlock.domain.errors import StoreError
from interlock.stores.sql import statements as s
from interlock.stores.sql.embedded.errors import corrupt

APPLICATION_ID = 0x494C434B
"""`ILCK`: what SQLite keeps in a file's head to tell whose database it is."""

_NAME = re.compile(r"(\d{4})_(\w+)\.sqlite\.sql")
_FOLDER = Path(__file__).parents[1] / "migrations"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: its number, its name and its statements."""

    number: int
    name: str
    script: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All steps of this code, in their order."""
    found = (_NAME.fullmatch(path.name) for path in _FOLDER.iterdir())
    steps = [
        Migration(int(match[1]), match[2], (_FOLDER / match[0]).read_text(encoding="utf-8")) for match in found if match
    ]
    return tuple(sorted(steps, key=lambda step: step.number))


def version(connection: sqlite3.Connection, path: str) -> int:
    """The number of the newest step that was carried out; 0 for an empty database.

    Raises `StoreError` `store_corrupt` for a database of somebody else.
    """
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if owner == APPLICATION_ID:
        (number,) = connection.execute(s.SCHEMA_VERSION.sql).fetchone()
        return int(number or 0)
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if owner or tables:
        raise corrupt(path, "it belongs to another program")
    return 0


def check(number: int, path: str, steps: Sequence[Migration]) -> None:
    """Raise `StoreError` where this code cannot bring a store with this version to its own."""
    newest, oldest = steps[-1].number, steps[0].number - 1
    if number > newest:
        raise StoreError(
            "store_too_new",
            f"the store {path} has schema {number}, this Interlock knows {newest}",
            "Upgrade Interlock in this process.",
        )
    if number and number < oldest:
        raise StoreError(
            "store_too_old",
            f"the store {path} has schema {number}, this Interlock can go on from {oldest} only",
            "Open it once with an Interlock from in between.",
        )


def migrate(
    connection: sqlite3.Connection, path: str, namespace: str, now: int, steps: Sequence[Migration] | None = None
) -> None:
    """Carry out what is missing, inside the caller's transaction (which holds the write lock).

    A new database also gets its namespace and its key here: whoever opens at the same moment sees
    all of it or nothing.
    """
    steps = migrations() if steps is None else steps
    number = version(connection, path)
    check(number, path, steps)
    for step in steps:
        if step.number > number:
            for statement in _statements(step.script):
                connection.execute(statement)
            connection.execute(s.ADD_SCHEMA_VERSION.sql, (step.number, step.name, now))
    if number == 0:
        connection.execute(s.ADD_META.sql, ("namespace", namespace.encode()))
        connection.execute(s.ADD_META.sql, ("namespace_key", secrets.token_bytes(32)))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _statements(script: str) -> Iterator[str]:
    # `executescript` would commit first.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
