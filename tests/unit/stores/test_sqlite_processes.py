"""Several processes share a file; a child inherits nothing; what was acknowledged outlives a kill."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interlock.domain.ids import RunId
from interlock.ports.store import Change, Page
from interlock.stores.memory import MemoryStore
from interlock.stores.sqlite import SqliteStore
from interlock.testing.sample_rows import Samples
from interlock.testing.store_setting import StoreSetting

PROCESSES, THREADS, EACH = 4, 4, 15

PRELUDE = """
import os, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from interlock.domain.errors import StoreError
from interlock.domain.events import EventType
from interlock.domain.ids import RunId
from interlock.ports.store import Change, Page
from interlock.stores.memory import MemoryStore
from interlock.stores.sqlite import SqliteStore
from interlock.testing.store_setting import StoreSetting
from interlock.testing.sample_rows import Samples
setting = StoreSetting()
setting.samples = Samples()
path = sys.argv[1]
run = RunId("the run")
"""


def start(code: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + textwrap.dedent(code), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def say(code: str, path: Path) -> str:
    process = start(code, path)
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 0, said
    return said


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def setting() -> StoreSetting:
    setting = StoreSetting()
    setting.samples = Samples()
    return setting


@pytest.fixture
def store(path: Path, setting: StoreSetting) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    setting.put(store, runs=[setting.samples.run(store.read(lambda rows: rows.now), run="the run")])
    yield store
    store.close()


RUN = RunId("the run")


def test_no_increment_of_many_processes_and_threads_is_lost(
    store: SqliteStore, path: Path, setting: StoreSetting
) -> None:
    code = f"""
        store = SqliteStore(path)
        print("ready", flush=True)
        sys.stdin.readline()
        def work(_):
            for _ in range({EACH}):
                store.write(setting.increment(run)).result()
                store.write_later(setting.tell(run, ["x"]))
        with ThreadPoolExecutor({THREADS}) as threads:
            list(threads.map(work, range({THREADS})))
        store.close()
    """
    workers = [start(code, path) for _ in range(PROCESSES)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate(timeout=100)
        assert worker.returncode == 0
    assert setting.count(store, RUN) == PROCESSES * THREADS * EACH
    assert len(store.read(lambda rows: rows.free_calls(RUN))) == PROCESSES * THREADS * EACH


def test_processes_that_open_a_new_file_at_once_agree_on_its_key(path: Path) -> None:
    code = """
        print("ready", flush=True)
        sys.stdin.readline()
        print(SqliteStore(path).namespace_key.hex())
    """
    openers = [start(code, path) for _ in range(4)]
    for opener in openers:
        assert opener.stdout is not None
        opener.stdout.readline()
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    keys = {opener.communicate(timeout=100)[0] for opener in openers}
    with closing(SqliteStore(path)) as store:
        assert keys == {store.namespace_key.hex() + "\n"}


def test_the_clock_does_not_go_back_from_process_to_process(store: SqliteStore, path: Path) -> None:
    code = """
        clock = lambda: datetime(2999, 1, 1, tzinfo=UTC)
        with_event = sys.argv[1]
        store = SqliteStore(path, clock=clock)
        store.write(setting.increment(run)).result()
        print(store.read(lambda rows: rows.now).year)
        store.close()
    """
    assert say(code, path) == "2999\n"
    assert store.read(lambda rows: rows.now).year == 2999
    assert store.write(lambda rows: Change(rows.now)).result().year == 2999


def test_a_commit_of_another_process_wakes_whoever_waits(store: SqliteStore, path: Path) -> None:
    while store.wait_for_change(0.02):
        pass
    code = """
        store = SqliteStore(path)
        while sys.stdin.readline():
            store.write(setting.increment(run)).result()
    """
    with start(code, path) as other:
        assert other.stdin is not None
        woken = False
        while not woken:
            other.stdin.write("\n")
            other.stdin.flush()
            woken = store.wait_for_change(20)
        other.stdin.close()


def test_what_was_acknowledged_outlives_a_kill(path: Path, store: SqliteStore, setting: StoreSetting) -> None:
    code = """
        store = SqliteStore(path)
        for _ in range(7):
            store.write(setting.increment(run)).result()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    process = start(code, path)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert setting.count(store, RUN) == 7


@pytest.mark.parametrize("end", ["", "store.close()", "del store", "sys.exit(0)", "raise SystemExit"])
def test_records_are_written_when_the_process_ends(path: Path, store: SqliteStore, end: str) -> None:
    code = f"""
        store = SqliteStore(path)
        store.write_later(setting.tell(run, ["last words"]))
        {end}
    """
    say(code, path)
    found = store.read(lambda rows: rows.events(RUN, Page()))
    assert StoreSetting.words(event for _, event in found) == ["last words"]


FORK = """
    def complaint(call):
        try:
            call()
        except StoreError as error:
            assert error.mend
            return error.code
        return "nothing"

    store = MemoryStore() if path.endswith("memory") else SqliteStore(path)
    if path.endswith("memory"):
        setting.put(store, runs=[setting.samples.run(store.read(lambda rows: rows.now), run="the run")])
    store.write(setting.increment(run)).result()
    store.read(lambda rows: rows.run(run))
    store.wait_for_change(0)
    store.write_later(setting.tell(run, ["of the parent"]))
    child = os.fork()
    if child == 0:
        codes = {complaint(call) for call in (
            lambda: store.write(setting.increment(run)), lambda: store.write_later(setting.increment(run)),
            lambda: store.read(lambda rows: None), store.flush, lambda: store.wait_for_change(0))}
        store.close()
        if not path.endswith("memory"):
            own = SqliteStore(path)
            own.write(setting.increment(run)).result()
            own.close()
        sys.exit(0 if codes == {"forked"} else 1)  # the whole end of an interpreter, finalisers and all
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    store.write(setting.increment(run)).result()
    store.flush()
    print(setting.count(store, run), len(store.read(lambda rows: rows.free_calls(run))))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_cannot_use_what_it_inherited_and_the_parent_goes_on(
    path: Path, store: SqliteStore, setting: StoreSetting
) -> None:
    assert say(FORK, path) == "3 1\n"
    assert setting.count(store, RUN) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_store_in_memory_is_not_inherited_either(tmp_path: Path) -> None:
    assert say(FORK, tmp_path / "memory") == "2 1\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_in_the_midst_of_many_writes_harms_nobody(path: Path, store: SqliteStore, setting: StoreSetting) -> None:
    code = """
        store = SqliteStore(path)
        with ThreadPoolExecutor(4) as threads:
            futures = [threads.submit(lambda: store.write(setting.increment(run)).result()) for _ in range(120)]
            children = []
            for _ in range(6):
                child = os.fork()
                if child == 0:
                    store.close()
                    os._exit(0)
                children.append(child)
            for future in futures:
                future.result()
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 6
        store.close()
    """
    say(code, path)
    assert setting.count(store, RUN) == 120
    assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert isinstance(MemoryStore().namespace, str)
