"""A store that is locked, full or read-only in the middle of a run: clear errors, nothing half done, and it goes on."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from race_child import World

from interlock.domain.action import ActionState
from interlock.domain.errors import StoreError
from interlock.domain.events import EventType
from interlock.domain.ids import RunId
from interlock.domain.run import RunState
from interlock.stores.sqlite import SqliteStore

RUN = RunId("r")
PATIENCE_S = 0.3


class Trouble:
    """Three ways for a store to be bad, each with its mend."""

    def __init__(self, kind: str, world: World) -> None:
        self.kind = kind
        self._world = world
        self._other: sqlite3.Connection | None = None

    @property
    def code(self) -> str:
        return {"locked": "store_locked", "full": "store_full", "read-only": "store_read_only"}[self.kind]

    def begin(self) -> None:
        if self._other is not None:
            return
        if self.kind == "locked":
            self._other = sqlite3.connect(
                self._world.folder / "store.db", isolation_level=None, check_same_thread=False
            )
            self._other.execute("BEGIN IMMEDIATE")
            return
        assert isinstance(self._world.store, SqliteStore)
        self._world.store.flush()  # the writer is at rest
        self._other = self._world.store._connection
        if self.kind == "read-only":
            self._other.execute("PRAGMA query_only = ON")
        else:
            # Nothing can be added once what is left on the last pages is used up: rows of some kilobytes will not fit.
            (pages,) = self._other.execute("PRAGMA page_count").fetchone()
            self._other.execute(f"PRAGMA max_page_count = {pages}")

    def mend(self) -> None:
        if self._other is None:
            return
        if self.kind == "locked":
            self._other.execute("ROLLBACK")
            self._other.close()
        elif self.kind == "read-only":
            self._other.execute("PRAGMA query_only = OFF")
        else:
            self._other.execute("PRAGMA max_page_count = 1073741823")
        self._other = None


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, store=SqliteStore(tmp_path / "store.db", busy_timeout_s=PATIENCE_S))
    yield made
    made.close()


@pytest.fixture(params=["locked", "full", "read-only"])
def trouble(request: pytest.FixtureRequest, world: World) -> Iterator[Trouble]:
    made = Trouble(request.param, world)
    yield made
    made.mend()


def run_state(world: World) -> RunState:
    run = world.kernel.run(RUN)
    assert run is not None
    return run.state


def eventually(holds: Callable[[], Any], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.02)


def test_a_run_that_cannot_be_started_leaves_nothing_and_starts_after_the_mend(world: World, trouble: Trouble) -> None:
    if trouble.kind == "full":
        world.il.kernel.put_blobs("x" * 200_000)  # no room is left on pages that are there
    trouble.begin()
    with pytest.raises(StoreError) as refused:
        world.job.start("x" * 20_000, key=RUN)
    assert refused.value.code == trouble.code
    assert refused.value.mend
    trouble.mend()
    world.kernel.bury_dead()
    world.job.start("x" * 20_000, key=RUN)
    world.approve()
    world.il.worker().run_until_idle()
    assert run_state(world) is RunState.FINISHED
    assert len(world.trace.read_text().splitlines()) == 1


def test_a_decision_that_cannot_be_written_is_not_acknowledged_and_can_be_given_again(
    world: World, trouble: Trouble
) -> None:
    world.job.start("x", key=RUN)
    card, note = world.card(), "n" * 100_000
    trouble.begin()
    with pytest.raises(StoreError) as refused:
        world.desk.approve(card.id, digest=card.digest, note=note)
    assert refused.value.code == trouble.code
    assert world.card() == card
    trouble.mend()
    receipt = world.desk.approve(card.id, digest=card.digest, note=note)
    assert not receipt.replayed
    world.il.worker().run_until_idle()
    assert run_state(world) is RunState.FINISHED
    assert world.effects("send x") == 1


@pytest.mark.parametrize("point", ["entry", "exit"])
def test_an_outcome_that_cannot_be_written_is_told_after_the_mend(world: World, trouble: Trouble, point: str) -> None:
    world.job.start("x", key=RUN)
    world.approve()
    world.inside = lambda now: trouble.begin() if now == point else None
    worker = world.il.worker()
    failed: list[StoreError] = []
    try:
        worker.run_until_idle()
    except StoreError as error:
        failed.append(error)
    # Some of it may still have found room in a full store.
    assert failed or trouble.kind == "full"
    assert {error.code for error in failed} <= {trouble.code}
    assert world.effects("send x") == 1
    trouble.mend()
    world.inside = lambda _: None
    until = time.monotonic() + 30
    while run_state(world) is not RunState.FINISHED and time.monotonic() < until:
        worker.run_until_idle()
        time.sleep(0.05)
    assert run_state(world) is RunState.FINISHED
    assert world.effects("send x") == 1
    (send,) = world.store.read(lambda rows: rows.actions_of_run(RUN))
    assert send.state is ActionState.DONE
    assert not world.desk.open(), "what this process knows need not be asked of people"
    types = [event.type for _, event in world.kernel.events(RUN, 500)]
    assert types.count(EventType.ACTION_DONE) + types.count(EventType.LATE_OUTCOME_RECORDED) == 1
    assert EventType.OUTCOME_CONFLICTED not in types


def test_a_worker_waits_for_its_store_and_goes_on(
    world: World, trouble: Trouble, caplog: pytest.LogCaptureFixture
) -> None:
    world.job.start("x", key=RUN)
    world.approve()
    worker = world.il.worker()
    trouble.begin()
    thread = threading.Thread(target=worker.run_forever)
    thread.start()
    if trouble.kind != "full":  # there, the little that a worker writes may still find room
        eventually(lambda: "waits for its store" in caplog.text)
        assert world.effects("send x") == 0
    trouble.mend()
    eventually(lambda: run_state(world) is RunState.FINISHED)
    worker.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert world.effects("send x") == 1


def test_a_result_that_finds_no_room_is_done_all_the_same(tmp_path: Path, world: World) -> None:
    trouble = Trouble("full", world)
    large = "y" * 300_000

    @world.il.tool("irreversible", name="large")
    def make(to: str) -> str:
        world.send_bare(to)
        trouble.begin()
        return large

    @world.il.workflow(name="largely")
    def largely(to: str) -> int:
        return len(make(to))

    largely.start("x", key=RUN)
    world.approve()
    worker = world.il.worker()
    failed: list[StoreError] = []
    try:
        worker.run_until_idle()
    except StoreError as error:
        failed.append(error)
    assert {error.code for error in failed} <= {"store_full"}
    trouble.mend()
    eventually(lambda: worker.run_until_idle() * 0 + (run_state(world) is not RunState.WAITING))
    assert world.effects("send x") == 1
    (action,) = world.store.read(lambda rows: rows.actions_of_run(RUN))
    assert action.state is ActionState.DONE
