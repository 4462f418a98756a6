"""The one writer: many units to a commit, one answer to each, and only the guilty fail."""

import gc
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from interlock.domain.events import EventType
from interlock.ports.store import Change, Page, Rows
from interlock.stores.sql import statements as s
from interlock.stores.sql.embedded import group_commit
from interlock.stores.sqlite import SqliteStore
from interlock.testing.sample_rows import Samples
from interlock.testing.store_setting import StoreSetting


class Spy:
    """A connection that tells what is executed on it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.statements: list[str] = []

    def execute(self, sql: str, *values: Any) -> Any:
        self.statements.append(sql)
        return self._connection.execute(sql, *values)

    def executemany(self, sql: str, values: Any) -> Any:
        self.statements.append(sql)
        return self._connection.executemany(sql, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def count(self, sql: str) -> int:
        return self.statements.count(sql)


@pytest.fixture
def setting() -> StoreSetting:
    setting = StoreSetting()
    setting.samples = Samples()
    return setting


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "store.db")
    yield store
    store.close()


@pytest.fixture
def spy(store: SqliteStore) -> Spy:
    store.write(lambda _: Change(None)).result()
    spy = Spy(store._connection)
    store._writer._connection = spy  # type: ignore[assignment]
    store._writer._rows._connection = spy  # type: ignore[assignment]
    return spy


class Gate:
    """A unit that keeps the writer busy until it is opened, so that others have to wait together."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()

    def __call__(self, _: Rows) -> Change[None]:
        self.entered.set()
        self.opened.wait()
        return Change(None)


def together(store: SqliteStore, calls: Callable[[], object]) -> None:
    """What `calls` gives to the store waits while the writer is busy, and is carried out together."""
    gate = Gate()
    future = store.write(gate)
    gate.entered.wait()
    calls()
    gate.opened.set()
    future.result()


def test_units_that_wait_share_one_commit(store: SqliteStore, spy: Spy, setting: StoreSetting) -> None:
    run = setting.start_run(store)
    futures: list[Any] = []
    spy.statements.clear()
    together(store, lambda: futures.extend(store.write(setting.increment(run.id)) for _ in range(100)))
    assert [future.result() for future in futures] == list(range(1, 101))
    assert spy.count("COMMIT") == 2
    assert spy.count("BEGIN IMMEDIATE") == 2


def test_a_change_that_nobody_waits_for_shares_the_commit_of_the_next(
    store: SqliteStore, spy: Spy, setting: StoreSetting
) -> None:
    run = setting.start_run(store)
    spy.statements.clear()
    soon = store.write_soon(setting.increment(run.id))
    assert store.write(setting.increment(run.id)).result() == 2
    assert soon.result(0) == 1
    assert spy.count("COMMIT") == 1


def test_a_batch_is_bounded(
    store: SqliteStore, spy: Spy, setting: StoreSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "MAX_BATCH", 10)
    run = setting.start_run(store)
    spy.statements.clear()
    together(store, lambda: [store.write_later(setting.increment(run.id)) for _ in range(35)])
    store.flush()
    assert setting.count(store, run.id) == 35
    assert spy.count("COMMIT") == 5


def test_records_of_a_batch_are_one_statement(store: SqliteStore, spy: Spy, setting: StoreSetting) -> None:
    run = setting.start_run(store)
    spy.statements.clear()
    together(store, lambda: [store.write_later(setting.tell(run.id, [str(number)])) for number in range(200)])
    store.flush()
    assert spy.count(s.ADD_EVENT.sql) == 1
    assert len(store.read(lambda rows: rows.free_calls(run.id))) == 200


def test_a_unit_reads_the_events_of_the_units_before_it_in_its_batch(store: SqliteStore, setting: StoreSetting) -> None:
    run = setting.start_run(store)
    seen: list[Any] = []

    def look(rows: Rows) -> Change[int]:
        return Change(len(rows.events(run.id, Page())) + len(rows.free_calls(run.id)))

    def calls() -> None:
        for number in range(5):
            store.write(setting.tell(run.id, [str(number)]))
            seen.append(store.write(look))

    together(store, calls)
    assert [future.result() for future in seen] == [2, 4, 6, 8, 10]


def test_a_unit_that_raises_costs_no_repetition(store: SqliteStore, spy: Spy, setting: StoreSetting) -> None:
    runs: list[str] = []

    def counted(name: str) -> Callable[[Rows], Change[str]]:
        def unit(rows: Rows) -> Change[str]:
            runs.append(name)
            if name == "bad":
                raise ZeroDivisionError
            return Change(name, runs=[setting.samples.run(rows.now, run=name)])

        return unit

    together(store, lambda: [store.write(counted(name)) for name in ("a", "bad", "c")])
    store.flush()
    assert runs == ["a", "bad", "c"]
    assert spy.count("ROLLBACK") == 0


def test_a_unit_that_the_database_refuses_is_found_one_by_one(
    store: SqliteStore, spy: Spy, setting: StoreSetting
) -> None:
    run = setting.start_run(store)
    futures: list[Any] = []

    def dangling(rows: Rows) -> Change[None]:
        action, _, _ = setting.samples.action(setting.samples.run(rows.now).id, rows.now)
        return Change(None, actions=[action])

    def calls() -> None:
        futures.append(store.write(setting.samples.propose(run.id)))
        futures.append(store.write(dangling))
        futures.append(store.write(setting.increment(run.id)))

    spy.statements.clear()
    together(store, calls)
    assert futures[1].exception().code == "store_inconsistent"
    assert futures[0].result().run == run.id
    assert futures[2].result() == 1
    assert spy.count("ROLLBACK") == 2
    action = store.read(lambda rows: rows.action(futures[0].result().id))
    assert action == futures[0].result()


def test_numbers_of_parts_do_not_outlive_a_rollback(store: SqliteStore, setting: StoreSetting) -> None:
    run = setting.start_run(store)

    def dangling(rows: Rows) -> Change[None]:
        action, revision, _ = setting.samples.action(run.id, rows.now)
        return Change(None, actions=[action], revisions=[revision, revision])

    assert setting.code_of(store.write(dangling)) == "store_inconsistent"
    action = store.write(setting.samples.propose(run.id)).result()
    assert store.read(lambda rows: rows.action(action.id)) == action


def test_a_callback_that_fails_does_not_end_the_writer(
    store: SqliteStore, setting: StoreSetting, caplog: pytest.LogCaptureFixture
) -> None:
    run = setting.start_run(store)

    class Stop(BaseException):
        pass

    def callback(_: object) -> None:
        raise Stop

    opened = Gate()
    future = store.write(opened)
    opened.entered.wait()
    with caplog.at_level(logging.CRITICAL, "interlock.stores"):
        future.add_done_callback(callback)
        opened.opened.set()
        assert store.write(setting.increment(run.id)).result() == 1


def test_a_record_that_breaks_is_logged(
    store: SqliteStore, setting: StoreSetting, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Rows) -> Change[None]:
        raise ZeroDivisionError

    store.write_later(broken)
    store.flush()
    assert "a record is lost" in caplog.text


def test_a_write_from_a_callback_is_carried_out(store: SqliteStore, setting: StoreSetting) -> None:
    run = setting.start_run(store)
    seen: list[Any] = []
    first = store.write(setting.increment(run.id))
    first.add_done_callback(lambda _: seen.append(store.write(setting.increment(run.id))))
    setting.wait_until(lambda: bool(seen))
    assert seen[0].result() == 2


def test_the_log_is_copied_into_the_database_now_and_then(
    store: SqliteStore, spy: Spy, setting: StoreSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "COMMITS_PER_CHECKPOINT", 10)
    run = setting.start_run(store)
    for _ in range(25):
        store.write(setting.increment(run.id)).result()
    setting.wait_until(lambda: spy.count("PRAGMA wal_checkpoint(PASSIVE)") == 2)


def test_a_quiet_store_copies_its_log(
    store: SqliteStore, spy: Spy, setting: StoreSetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "IDLE_COMMITS", 3)
    monkeypatch.setattr(group_commit, "IDLE_S", 0.01)
    run = setting.start_run(store)
    for _ in range(5):
        store.write(setting.increment(run.id)).result()
    setting.wait_until(lambda: spy.count("PRAGMA wal_checkpoint(PASSIVE)") >= 1)


def test_a_store_that_nobody_closed_is_closed_when_it_is_forgotten(tmp_path: Path, setting: StoreSetting) -> None:
    store = SqliteStore(tmp_path / "forgotten.db")
    run = setting.start_run(store)
    store.write_later(setting.tell(run.id, ["last words"]))
    gone, writer = weakref.ref(store), store._writer._thread
    del store
    gc.collect()
    assert gone() is None
    assert not writer.is_alive()
    with closing(SqliteStore(tmp_path / "forgotten.db")) as again:
        assert len(again.read(lambda rows: rows.free_calls(run.id))) == 1


def test_closing_while_others_write_answers_everybody(tmp_path: Path, setting: StoreSetting) -> None:
    store = SqliteStore(tmp_path / "store.db")
    run = setting.start_run(store)
    answers: list[int | str] = []

    def work(_: int) -> None:
        while True:
            try:
                answers.append(store.write(setting.increment(run.id)).result(60))
            except Exception as error:  # noqa: BLE001
                answers.append(getattr(error, "code", repr(error)))
                return

    with ThreadPoolExecutor(8) as threads:
        working = [threads.submit(work, number) for number in range(8)]
        setting.wait_until(lambda: len(answers) > 50)
        store.close()
        for one in working:
            one.result()
    assert [one for one in answers if isinstance(one, str)] == ["store_closed"] * 8
    with closing(SqliteStore(tmp_path / "store.db")) as again:
        assert setting.count(again, run.id) == len(answers) - 8


def test_a_record_is_as_durable_as_a_write(store: SqliteStore, setting: StoreSetting) -> None:
    run = setting.start_run(store)
    store.write_later(setting.tell(run.id, ["1"]))
    store.flush()
    with closing(SqliteStore(store._path)) as other:
        found = other.read(lambda rows: rows.events(run.id, Page()))
    assert [event.type for _, event in found] == [EventType.CALL_RECORDED]
