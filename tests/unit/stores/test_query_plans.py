"""Every query is served by an index: nothing is scanned, and what is paged is not sorted."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.stores.sql import statements as s
from interlock.stores.sqlite import SqliteStore

STATED = {name: one for name, one in vars(s).items() if isinstance(one, s.Statement) and one.sql.startswith("SELECT")}

# Small by nature: rows of a person's making, one row of the clock, and what a limit has counted out already.
SMALL = {"COUNT_CALLS": "(subquery-1)", "FREEZES": "freezes", "LATEST": "clock", "SCHEMA_VERSION": "schema_versions"}
# All rows that are found are answered, so that sorting them is part of the answer.
SORTED = {
    *("ACTIONS_OF_RUN", "ACTIONS_WITH_EFFECT", "CLAIMS_OF_PROCESS", "RUNS_OF_PROCESS", "PROCESSES", "FREEZES"),
    *("INTERRUPTS_OF_ACTION", "DECISIONS_OF_ACTION", "WORK_OF_PROCESS"),
}
# Partial indexes hold nothing but what the page is made of, in its order.
WHOLE_INDEX = {
    "OPEN_INTERRUPTS": "interrupts_open",
    "POISON_WORK": "work_poison",
    "PROCESSES": "processes_live",
}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    SqliteStore(tmp_path / "store.db").close()
    connection = sqlite3.connect(tmp_path / "store.db")
    yield connection
    connection.close()


@pytest.mark.parametrize("name", STATED)
def test_a_query_reads_by_index(connection: sqlite3.Connection, name: str) -> None:
    statement = STATED[name]
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", [None] * len(statement.names)).fetchall()
    plan = [row[3] for row in rows]
    scans = [step for step in plan if step.startswith("SCAN") and "CONSTANT ROW" not in step]
    if name in SMALL:
        scans = [step for step in scans if SMALL[name] not in step]
    if name in WHOLE_INDEX:
        scans = [step for step in scans if WHOLE_INDEX[name] not in step]
    assert not scans, plan
    sorts = [step for step in plan if "TEMP B-TREE" in step]
    assert not sorts or name in SORTED, plan


def test_every_parameter_is_named_once_for_each_place() -> None:
    for name, statement in STATED.items():
        assert statement.sql.count("?") == len(statement.names), name


def test_no_listing_counts_rows_to_skip() -> None:
    assert not [name for name, statement in STATED.items() if "OFFSET" in statement.sql]
