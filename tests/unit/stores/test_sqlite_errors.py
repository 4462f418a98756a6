"""What goes wrong with a file is told with a code and a mend, and what was not acknowledged did not happen."""

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.domain.errors import StoreError
from interlock.ports.store import Change, Page, Rows
from interlock.stores.sql.embedded import connect as connecting
from interlock.stores.sql.embedded import group_commit
from interlock.stores.sql.embedded.errors import store_error
from interlock.stores.sqlite import SqliteStore
from interlock.testing.sample_rows import Samples

SAMPLES = Samples()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path, busy_timeout_s=0.05)
    yield store
    store.close()


def put_blob(name: str, size: int = 1) -> Callable[[Rows], Change[str]]:
    return lambda _: Change(name, blobs={name: os.urandom(size)})


def error_of(call: Callable[[], Any]) -> StoreError:
    with pytest.raises(StoreError) as raised:
        call()
    assert raised.value.mend
    assert "\n" not in str(raised.value)
    return raised.value


def write(store: SqliteStore, name: str, size: int = 1) -> str:
    return store.write(put_blob(name, size)).result()


def has(store: SqliteStore, name: str) -> bool:
    return store.read(lambda rows: rows.blob(name)) is not None


def in_another_process(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


HOLD = """
    import sqlite3, sys
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_store_that_another_process_holds_is_locked_until_it_lets_go(store: SqliteStore, path: Path) -> None:
    with in_another_process(HOLD, str(path)) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert error_of(lambda: write(store, "a")).code == "store_locked"
        assert not has(store, "a")
        holder.communicate("\n")
    assert write(store, "b") == "b"


def test_records_outlast_a_lock(store: SqliteStore, path: Path) -> None:
    with in_another_process(HOLD, str(path)) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        for number in range(3):
            store.write_later(put_blob(f"later {number}"))
        assert error_of(store.flush).code == "store_locked"
        assert error_of(lambda: write(store, "a")).code == "store_locked"
        holder.communicate("\n")
    store.flush()
    assert [has(store, f"later {number}") for number in range(3)] == [True] * 3
    assert not has(store, "a")


def test_a_read_only_store_is_read_and_not_written(store: SqliteStore) -> None:
    write(store, "a")
    store._connection.execute("PRAGMA query_only = ON")
    assert error_of(lambda: write(store, "b")).code == "store_read_only"
    assert has(store, "a")
    assert not has(store, "b")
    store._connection.execute("PRAGMA query_only = OFF")
    assert write(store, "c") == "c"


def test_a_file_that_may_not_be_written_is_read_only(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(path).close()
    # The superuser may write any file, whatever its mode; SQLite itself can be told not to.
    monkeypatch.setattr(connecting, "OPEN_MODE", "ro")
    with closing(SqliteStore(path)) as store:
        assert error_of(lambda: write(store, "a")).code == "store_read_only"


def test_a_full_disk_fails_the_write_and_nothing_else(store: SqliteStore) -> None:
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    assert error_of(lambda: write(store, "large", 100_000)).code == "store_full"
    assert not has(store, "large")
    assert write(store, "small") == "small"
    store._connection.execute("PRAGMA max_page_count = 100000")
    assert write(store, "large", 100_000) == "large"


def test_a_full_disk_fails_only_what_does_not_fit(store: SqliteStore) -> None:
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    store.write_later(put_blob("first"))
    futures = [store.write(put_blob(str(size), size)) for size in (10, 100_000, 11)]
    errors = [future.exception() for future in futures]
    assert [error.code if isinstance(error, StoreError) else error for error in errors] == [None, "store_full", None]
    assert [has(store, name) for name in ("first", "10", "100000", "11")] == [True, True, False, True]


@pytest.mark.parametrize(
    "content", [b"this is no database, it is a letter to my aunt. " * 40, b"SQLite format 3\x00" * 99]
)
def test_a_file_of_something_else_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert error_of(lambda: SqliteStore(path)).code == "store_corrupt"
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    assert error_of(lambda: SqliteStore(path)).code == "store_corrupt"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


@pytest.mark.parametrize("kept", [100, 4096, 30_000])
def test_half_a_file_is_corrupt(path: Path, kept: int) -> None:
    with closing(SqliteStore(path)) as store:
        for number in range(50):
            write(store, str(number), 3000)
    os.truncate(path, kept)

    def use() -> None:
        with closing(SqliteStore(path)) as store:
            write(store, "more")
            store.read(lambda rows: rows.events(None, Page()))

    assert error_of(use).code == "store_corrupt"


def test_a_damaged_page_is_corrupt_when_it_is_read(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        write(store, "a", 30_000)
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 16] = b"\xee" * 16
    path.write_bytes(data)

    def use() -> bool:
        with closing(SqliteStore(path)) as store:
            return has(store, "a")

    assert error_of(use).code == "store_corrupt"


def test_a_folder_that_cannot_be_made_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert error_of(lambda: SqliteStore(tmp_path / "file" / "store.db")).code == "store_missing"


def test_a_store_that_must_be_there_is_not_made(path: Path) -> None:
    assert error_of(lambda: SqliteStore(path, create=False)).code == "store_missing"
    assert not path.exists()
    SqliteStore(path).close()
    SqliteStore(path, create=False).close()


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    assert error_of(lambda: SqliteStore(tmp_path)).code == "store_missing"


def test_a_file_belongs_to_one_namespace(path: Path) -> None:
    SqliteStore(path, "mine").close()
    assert error_of(lambda: SqliteStore(path, "yours")).code == "store_other_namespace"
    SqliteStore(path, "mine").close()


def test_the_file_and_its_folder_are_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "store.db"
    with closing(SqliteStore(path)) as store:
        write(store, "a")
        modes = {one.name: one.stat().st_mode & 0o777 for one in path.parent.iterdir()}
        assert set(modes.values()) == {0o600}
        assert len(modes) == 3
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_name_with_every_awkward_character_is_just_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a?b=c&mode=ro#d%20 é.db"
    with closing(SqliteStore(path)) as store:
        write(store, "a")
    assert path.exists()


def test_a_copy_taken_between_commits_is_a_store(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    write(store, "a")
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{tmp_path / 'copy.db'}{suffix}")
    with closing(SqliteStore(tmp_path / "copy.db")) as copy:
        assert has(copy, "a")
        assert copy.namespace_key == store.namespace_key


def raised_by_sqlite(name: str) -> sqlite3.Error:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorcode = getattr(sqlite3, name)
    return error


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SQLITE_BUSY", "store_locked"),
        ("SQLITE_BUSY_SNAPSHOT", "store_locked"),
        ("SQLITE_LOCKED", "store_locked"),
        ("SQLITE_READONLY_DIRECTORY", "store_read_only"),
        ("SQLITE_PERM", "store_read_only"),
        ("SQLITE_FULL", "store_full"),
        ("SQLITE_CORRUPT_INDEX", "store_corrupt"),
        ("SQLITE_NOTADB", "store_corrupt"),
        ("SQLITE_IOERR_SHORT_READ", "store_corrupt"),
        ("SQLITE_IOERR_FSYNC", "store_io"),
        ("SQLITE_CANTOPEN", "store_missing"),
        ("SQLITE_CONSTRAINT_UNIQUE", "store_inconsistent"),
        ("SQLITE_ERROR", "store_failed"),
    ],
)
def test_every_error_of_sqlite_has_its_code(name: str, code: str) -> None:
    error = raised_by_sqlite(name)
    told = store_error(error, "x.db")
    assert told.code == code
    assert told.mend
    assert told.__cause__ is error


def test_what_the_driver_refuses_fails_alone(store: SqliteStore) -> None:
    def lone_surrogate(rows: Rows) -> Change[None]:
        return Change(None, runs=[replace(SAMPLES.run(rows.now), attention="\ud800")])

    futures = [store.write(put_blob("a")), store.write(lone_surrogate), store.write(put_blob("b"))]
    error = futures[1].exception()
    assert isinstance(error, StoreError)
    assert error.code == "store_failed"
    assert (futures[0].result(), futures[2].result()) == ("a", "b")


def test_records_that_a_closing_store_cannot_write_are_told_of(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    store._connection.execute("PRAGMA query_only = ON")
    for number in range(3):
        store.write_later(put_blob(str(number)))
    store.close()
    assert "records are lost" in caplog.text


def test_records_beyond_what_is_kept_are_told_of(
    store: SqliteStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "MAX_BUFFERED", 2)
    store._connection.execute("PRAGMA query_only = ON")
    for number in range(5):
        store.write_later(put_blob(str(number)))
    assert error_of(store.flush).code == "store_read_only"
    store._connection.execute("PRAGMA query_only = OFF")
    store.flush()
    assert [has(store, str(number)) for number in range(5)] == [False] * 3 + [True] * 2
    assert "records are lost" in caplog.text
