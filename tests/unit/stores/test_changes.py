"""Waiting for changes: one thread looks after other processes for all, and nobody sleeps through a sign."""

import ctypes
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.stores.changes import Changes
from interlock.stores.sql.embedded import signs
from interlock.stores.sql.embedded.signs import Signs, signs_of
from interlock.stores.sql.embedded.watching import OtherCommits

LONG_S = 30.0
"""Longer than any of these tests waits: who sleeps for so long was not roused."""


class Elsewhere:
    """Other processes that commit when they are told to; sleeping there lasts until somebody rouses."""

    def __init__(self) -> None:
        self.news, self.asked, self.sleepers = False, 0, 0
        self.sleeping = threading.Event()
        self.roused = threading.Event()

    def __call__(self) -> bool:
        self.asked += 1
        found, self.news = self.news, False
        return found

    def sleep(self, seconds: float) -> None:
        self.sleepers += 1
        assert self.sleepers == 1
        self.sleeping.set()
        self.roused.wait(seconds)
        self.roused.clear()
        self.sleepers -= 1

    def rouse(self) -> None:
        self.roused.set()


def waiting(changes: Changes, many: int = 3) -> tuple[list[threading.Thread], list[bool]]:
    woken: list[bool] = []
    threads = [threading.Thread(target=lambda: woken.append(changes.wait(LONG_S))) for _ in range(many)]
    for thread in threads:
        thread.start()
    return threads, woken


def joined(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(LONG_S / 2)
        assert not thread.is_alive()


def test_a_change_here_wakes_all_who_wait_and_who_sleeps_elsewhere() -> None:
    others = Elsewhere()
    changes = Changes(others)
    threads, woken = waiting(changes)
    others.sleeping.wait(LONG_S)
    changes.tell()
    joined(threads)
    assert woken == [True, True, True]


def test_a_change_elsewhere_wakes_all_who_wait() -> None:
    others = Elsewhere()
    changes = Changes(others)
    threads, woken = waiting(changes)
    others.sleeping.wait(LONG_S)
    others.news = True
    others.rouse()
    joined(threads)
    assert woken == [True, True, True]


def test_nobody_is_asked_while_nobody_waits() -> None:
    others = Elsewhere()
    changes = Changes(others)
    assert changes.wait(0) is False
    changes.tell()
    assert changes.wait(LONG_S) is True
    assert others.asked == 0


def test_the_end_lets_everybody_go_and_returns_once_nobody_looks() -> None:
    others = Elsewhere()
    changes = Changes(others)
    threads, woken = waiting(changes)
    others.sleeping.wait(LONG_S)
    changes.end()
    assert others.sleepers == 0
    joined(threads)
    assert woken == [False, False, False]


def test_one_that_fails_to_look_leaves_the_looking_to_the_next() -> None:
    others = Elsewhere()
    changes = Changes(others)

    def fail(_: float) -> None:
        raise KeyboardInterrupt

    others.sleep, sleep = fail, others.sleep  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        changes.wait(LONG_S)
    others.sleep = sleep  # type: ignore[method-assign]
    threads, woken = waiting(changes)
    others.sleeping.wait(LONG_S)
    changes.tell()
    joined(threads)
    assert woken == [True, True, True]


# -- signs of writes to a log ----------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    log = tmp_path / "log"
    log.write_bytes(b"")
    return log


def slept(signs: Signs, seconds: float, meanwhile: Callable[[], Any]) -> float:
    """How long a sleep lasted during which something happened."""
    timer = threading.Timer(0.05, meanwhile)
    timer.start()
    begun = time.monotonic()
    signs.sleep(seconds)
    timer.join()
    return time.monotonic() - begun


@pytest.fixture(params=["told", "regular"])
def either(request: pytest.FixtureRequest, log: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "regular":
        monkeypatch.setattr(signs, "LOOK_EVERY_S", LONG_S)
        monkeypatch.setattr(sys, "platform", "darwin")
    else:
        monkeypatch.setattr(signs, "NET_S", LONG_S)
        if sys.platform != "linux":
            pytest.skip("only Linux tells")
    made = signs_of(log)
    yield made
    made.close()


def test_a_sleep_ends_when_somebody_rouses(either: Signs) -> None:
    assert slept(either, LONG_S, either.rouse) < LONG_S / 2


def test_who_is_roused_before_the_sleep_does_not_sleep(either: Signs) -> None:
    either.rouse()
    either.rouse()
    either.sleep(LONG_S)
    either.sleep(0)


def test_a_sleep_lasts_no_longer_than_asked(either: Signs) -> None:
    either.sleep(0.01)


def test_rousing_after_the_end_does_nothing(either: Signs) -> None:
    either.close()
    either.rouse()
    either.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_write_to_the_log_ends_the_sleep_and_makes_the_next_ones_short(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signs, "NET_S", LONG_S)
    monkeypatch.setattr(signs, "ALERT_S", LONG_S)
    made = signs_of(log)
    with log.open("ab", buffering=0) as file:
        assert slept(made, LONG_S, lambda: file.write(b"x")) < LONG_S / 2
    made.sleep(LONG_S)
    made.close()


@pytest.mark.parametrize("fails", ["inotify_init1", "inotify_add_watch", "load"])
def test_where_the_system_tells_nothing_there_is_a_look_every_few_milliseconds(
    fails: str, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Libc:
        inotify_init1 = staticmethod(lambda _: -1 if fails == "inotify_init1" else os.open(log, os.O_RDONLY))
        inotify_add_watch = staticmethod(lambda *_: -1)

    def load(*_: Any, **__: Any) -> Any:
        if fails == "load":
            raise OSError("no such library")
        return Libc

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(sys, "platform", "linux")
    made = signs_of(log)
    made.sleep(LONG_S)
    made.close()


def test_a_log_that_is_not_there_is_looked_after_all_the_same(tmp_path: Path) -> None:
    made = signs_of(tmp_path / "gone")
    made.sleep(LONG_S)
    made.close()


def test_a_commit_of_another_connection_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("CREATE TABLE t (x)")
    others = OtherCommits(path, lambda: sqlite3.connect(path, check_same_thread=False))
    assert others() is False
    writer.execute("INSERT INTO t VALUES (1)")
    others.sleep(LONG_S)
    assert others() is True
    assert others() is False
    others.close()
    others.close()
    writer.close()


def test_a_store_that_cannot_be_opened_is_asked_again(tmp_path: Path) -> None:
    def fail() -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    others = OtherCommits(tmp_path / "gone.db", fail)
    assert others() is True  # whoever looks now will be told what is wrong
    others.rouse()
    others.sleep(LONG_S)
    others.close()
    assert others() is False
