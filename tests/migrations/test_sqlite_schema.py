"""The tables that the code states are exactly what the migrations add up to."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from interlock.domain.errors import StoreError
from interlock.stores.sql import tables
from interlock.stores.sql.embedded.migrate import Migration, migrate, migrations, version
from interlock.stores.sqlite import SqliteStore

Shape = dict[str, Any]


def opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def condition(sql: str | None) -> str:
    """What a partial index says after WHERE."""
    _, _, where = " ".join((sql or "").split()).partition(" WHERE ")
    return where


def shape(connection: sqlite3.Connection) -> Shape:
    """Everything that tells two schemas apart, whatever their text looks like."""
    found: Shape = {}
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    for name, sql in rows:
        indexes = {}
        for _, index, unique, origin, partial in connection.execute(f"PRAGMA index_list({name})").fetchall():
            (text,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone() or (None,)
            columns = [row[1:] for row in connection.execute(f"PRAGMA index_xinfo({index})")]
            indexes[index] = (unique, origin, partial, columns, condition(text))
        found[name] = {
            "columns": connection.execute(f"PRAGMA table_xinfo({name})").fetchall(),
            "foreign keys": sorted(row[2:] for row in connection.execute(f"PRAGMA foreign_key_list({name})")),
            "indexes": indexes,
            "without rowid": bool(re.search(r"WITHOUT ROWID\s*$", sql)),
        }
    return found


def test_the_tables_are_the_sum_of_the_migrations(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "migrated")) as migrated, closing(opened(tmp_path / "stated")) as stated:
        migrated.execute("BEGIN IMMEDIATE")
        migrate(migrated, "x", "default", 0)
        migrated.execute("COMMIT")
        for table in tables.metadata.tables.values():
            stated.execute(str(CreateTable(table).compile(dialect=sqlite.dialect())))
            for index in table.indexes:
                stated.execute(str(CreateIndex(index).compile(dialect=sqlite.dialect())))
        assert shape(migrated) == shape(stated)


def test_migrations_are_numbered_without_gaps() -> None:
    assert [step.number for step in migrations()] == list(range(1, len(migrations()) + 1))


STEPS = (
    Migration(1, "first", "CREATE TABLE schema_versions (number INTEGER PRIMARY KEY, name TEXT, applied_at INTEGER);"),
    Migration(2, "second", "CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB);\nCREATE TABLE two (a);"),
    Migration(3, "third", "ALTER TABLE two\n  ADD COLUMN b TEXT; -- said twice\nINSERT INTO two VALUES (1, ';');"),
)


def carry_out(connection: sqlite3.Connection, *steps: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        migrate(connection, "x", "default", 7, steps)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def test_only_missing_steps_are_carried_out(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "db")) as connection:
        carry_out(connection, *STEPS[:2])
        key = connection.execute("SELECT value FROM meta WHERE name = 'namespace_key'").fetchall()
        carry_out(connection, *STEPS)
        carry_out(connection, *STEPS)
        assert version(connection, "x") == 3
        assert connection.execute("SELECT * FROM two").fetchall() == [(1, ";")]
        assert connection.execute("SELECT * FROM schema_versions").fetchall() == [
            (1, "first", 7),
            (2, "second", 7),
            (3, "third", 7),
        ]
        assert connection.execute("SELECT value FROM meta WHERE name = 'namespace_key'").fetchall() == key


def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    broken = Migration(3, "broken", "CREATE TABLE three (a);\nCREATE TABLE two (a);")
    with closing(opened(tmp_path / "db")) as connection:
        carry_out(connection, *STEPS[:2])
        with pytest.raises(sqlite3.OperationalError):
            carry_out(connection, *STEPS[:2], broken)
        assert version(connection, "x") == 2
        assert not connection.execute("SELECT * FROM sqlite_master WHERE name = 'three'").fetchall()


def test_a_store_that_is_too_old_to_go_on_from_is_refused(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "db")) as connection:
        carry_out(connection, STEPS[0], STEPS[1])
        with pytest.raises(StoreError) as raised:
            carry_out(connection, Migration(4, "fourth", ""), Migration(5, "fifth", ""))
        assert raised.value.code == "store_too_old"
        assert raised.value.mend


def test_a_store_that_is_newer_than_the_code_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "db"
    SqliteStore(path).close()
    with closing(opened(path)) as connection:
        connection.execute("INSERT INTO schema_versions VALUES (999, 'future', 0)")
    before = path.read_bytes()
    with pytest.raises(StoreError) as raised:
        SqliteStore(path)
    assert raised.value.code == "store_too_new"
    assert "999" in str(raised.value)
    assert path.read_bytes() == before
