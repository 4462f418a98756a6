"""What every store does, as tests: a subclass says how to make one, and is held to all of it.

class TestMyStore(StoreContract):
def make_store(self, clock): return MyStore(clock=clock)
def reopen(self, store): store.close(); return MyStore(...)   # the same rows again
"""

# ruff: noqa: D102, PT011  tests: they assert, and their names are their sentences

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any, TypeVar

import pytest

from interlock.domain.action import ActionState
from interlock.domain.errors import InterlockError, RunError, StoreError
from interlock.domain.events import EventType
from interlock.domain.ids import RunId
from interlock.domain.run import Run
from interlock.ports.store import Change, Page, Rows, Store, Unit
from interlock.testing.clock import ManualClock
from interlock.testing.store_rows_contract import StoreRowsContract

R = TypeVar("R")

NOBODY_WAITS_S = 20.0
"""How long a test waits for what must come soon: far longer than soon, so that a slow machine passes."""


class StoreContract(StoreRowsContract):
    """Transactions: what is written together, in which order, by whom first, and who hears of it when."""

    def test_a_unit_that_fails_to_be_written_writes_nothing_at_all(self, store: Store) -> None:
        def bad(rows: Rows) -> Change[None]:
            run = self.samples.run(rows.now, run="r1")
            fact = self.samples.event(EventType.RUN_STARTED, rows.now, run=run.id, body={"x": float("nan")})
            return Change(None, runs=[run], blobs={"b": b"x"}, events=[fact])

        with pytest.raises(Exception):  # noqa: B017  each store may say it in its own way
            store.write(bad).result()
        assert store.read(lambda rows: (rows.run(RunId("r1")), rows.blob("b"), rows.events(None, Page()))) == (
            None,
            None,
            [],
        )

    def test_rows_that_hang_in_the_air_are_refused_as_a_whole(self, store: Store) -> None:
        def dangling(rows: Rows) -> Change[None]:
            run = self.samples.run(rows.now)
            action, revision, card = self.samples.action(run.id, rows.now)
            return Change(None, actions=[action], revisions=[revision], interrupts=[card], blobs={"b": b"x"})

        assert self.code_of(store.write(dangling)) == "store_inconsistent"
        assert store.read(lambda rows: rows.blob("b")) is None

    def test_one_of_many_threads_wins(self, store: Store) -> None:
        run = self.start_run(store)
        action = store.write(self.samples.propose(run.id)).result()
        store.write(self.samples.decide(action.id)).result()
        together = threading.Barrier(16)

        def claim(number: int) -> bool:
            together.wait()

            def unit(rows: Rows) -> Change[bool]:
                found = rows.action(action.id)
                assert found is not None
                if found.state is not ActionState.CLEARED:
                    return Change(False)
                taken = replace(found, state=ActionState.EXECUTING, fence=found.fence + 1, tries=number)
                return Change(True, actions=[taken])

            return store.write(unit).result()

        with ThreadPoolExecutor(16) as threads:
            wins = list(threads.map(claim, range(16)))
        assert wins.count(True) == 1
        winner = store.read(lambda rows: rows.action(action.id))
        assert winner is not None
        assert (winner.fence, winner.tries) == (1, wins.index(True))

    def test_no_increment_of_many_threads_is_lost(self, store: Store) -> None:
        run = self.start_run(store)
        with ThreadPoolExecutor(16) as threads:
            futures = [threads.submit(lambda: store.write(self.increment(run.id)).result()) for _ in range(320)]
        assert sorted(one.result() for one in futures) == list(range(1, 321))

    def test_events_stand_in_the_order_of_commits_and_of_their_unit(self, store: Store) -> None:
        run = self.start_run(store)
        futures = [store.write(self.tell(run.id, [str(n), f"{n}b"])) for n in range(20)]
        for future in futures:
            future.result()
        found = store.read(lambda rows: rows.events(run.id, Page(limit=100)))
        assert self.words(event for _, event in found) == [word for n in range(20) for word in (str(n), f"{n}b")]
        positions = [position for position, _ in found]
        assert positions == sorted(set(positions))

    def test_a_refusal_is_raised_and_leaves_its_evidence(self, store: Store) -> None:
        run = self.start_run(store)

        def refuse(rows: Rows) -> Change[None]:
            fact = self.samples.event(EventType.DECISION_REFUSED, rows.now, run=run.id)
            return Change(None, events=[fact], refusal=RunError("busy", "somebody else drives this run"))

        assert self.code_of(store.write(refuse)) == "busy"
        found = store.read(lambda rows: rows.events(run.id, Page()))
        assert [event.type for _, event in found] == [EventType.DECISION_REFUSED]

    def test_a_unit_that_raises_fails_alone_and_writes_nothing(self, store: Store) -> None:
        run = self.start_run(store)

        def refused(_: Rows) -> Change[int]:
            raise RunError("cancelled", "this run is cancelled")

        def broken(_: Rows) -> Change[int]:
            raise ZeroDivisionError

        units: list[Unit[int]] = [self.increment(run.id), refused, self.increment(run.id), broken] * 8
        with ThreadPoolExecutor(len(units)) as threads:
            outcomes = [type(one.exception()) for one in threads.map(store.write, units)]
        assert outcomes == [type(None), RunError, type(None), ZeroDivisionError] * 8
        assert self.count(store, run.id) == 16

    def test_a_unit_that_the_store_itself_refuses_fails_alone(self, store: Store) -> None:
        run = self.start_run(store)
        action = store.write(self.samples.propose(run.id)).result()
        revision = store.read(lambda rows: rows.revision(action.id, 1))
        assert revision is not None

        def twice(_: Rows) -> Change[int]:
            return Change(0, revisions=[revision])

        units: list[Unit[int]] = [self.increment(run.id), twice] * 8
        with ThreadPoolExecutor(len(units)) as threads:
            outcomes = [one.exception() for one in threads.map(store.write, units)]
        assert [one is None for one in outcomes] == [True, False] * 8
        assert {one.code for one in outcomes if isinstance(one, InterlockError)} == {"store_inconsistent"}
        assert self.count(store, run.id) == 8

    def test_what_a_future_acknowledged_is_there_when_the_store_is_opened_again(self, store: Store) -> None:
        run = self.start_run(store)
        store.write(self.increment(run.id)).result()
        again = self.reopen(store)
        try:
            assert self.count(again, run.id) == 1
        finally:
            again.close()

    def test_a_read_sees_every_write_that_was_acknowledged_before(self, store: Store) -> None:
        run = self.start_run(store)
        for number in range(1, 51):
            store.write(self.increment(run.id)).result()
            assert self.count(store, run.id) == number

    def test_a_unit_sees_what_the_units_before_it_wrote(self, store: Store) -> None:
        run = self.start_run(store)
        futures = [store.write(self.increment(run.id)) for _ in range(20)]
        assert [future.result() for future in futures] == list(range(1, 21))

    def test_a_write_cannot_be_taken_back(self, store: Store) -> None:
        run = self.start_run(store)
        future = store.write(self.increment(run.id))
        assert not future.cancel()
        assert future.result() == 1

    # Changes and records that nobody waits for.

    def test_a_change_that_nobody_waits_for_is_written_without_anybody_asking(self, store: Store) -> None:
        run = self.start_run(store)
        assert store.write_soon(self.increment(run.id)).result(NOBODY_WAITS_S) == 1
        assert self.count(store, run.id) == 1

    def test_a_change_that_nobody_waits_for_keeps_its_place(self, store: Store) -> None:
        run = self.start_run(store)
        first = store.write(self.increment(run.id))
        soon = store.write_soon(self.increment(run.id))
        store.write_later(self.increment(run.id))
        last = store.write(self.increment(run.id))
        assert [future.result() for future in (first, soon, last)] == [1, 2, 4]

    def test_a_change_that_nobody_waits_for_tells_how_it_failed(self, store: Store) -> None:
        run = self.start_run(store)

        def refused(_: Rows) -> Change[None]:
            raise RunError("pass_lost", "another process drives this run")

        failed, after = store.write_soon(refused), store.write_soon(self.increment(run.id))
        store.flush()
        assert (failed.done(), after.result(0)) == (True, 1)
        with pytest.raises(RunError, match="another process"):
            failed.result()

    def test_records_are_written_in_order_and_before_a_later_write(self, store: Store) -> None:
        run = self.start_run(store)
        for number in range(300):
            store.write_later(self.tell(run.id, [str(number)]))
        seen = store.write(lambda rows: Change(self.words(rows.free_calls(run.id)))).result()
        assert seen == [str(number) for number in range(300)]

    def test_a_write_does_not_overtake_nor_is_overtaken(self, store: Store) -> None:
        run = self.start_run(store)
        store.write_later(self.tell(run.id, ["1"]))
        middle = store.write(self.tell(run.id, ["2"]))
        store.write_later(self.tell(run.id, ["3"]))
        middle.result()
        store.flush()
        assert self.words(store.read(lambda rows: rows.free_calls(run.id))) == ["1", "2", "3"]

    def test_a_record_is_written_without_anybody_asking(self, store: Store) -> None:
        run = self.start_run(store)
        store.write_later(self.tell(run.id, ["1"]))
        self.wait_until(lambda: self.words(store.read(lambda rows: rows.free_calls(run.id))) == ["1"])

    def test_a_flush_waits_for_the_records_before_it(self, store: Store) -> None:
        run = self.start_run(store)
        store.flush()
        for number in range(10):
            store.write_later(self.tell(run.id, [str(number)]))
        store.flush()
        assert len(store.read(lambda rows: rows.free_calls(run.id))) == 10

    def test_a_record_that_fails_disturbs_nobody(self, store: Store) -> None:
        run = self.start_run(store)

        def refused(_: Rows) -> Change[None]:
            raise RunError("pass_lost", "another process drives this run")

        store.write_later(self.tell(run.id, ["1"]))
        store.write_later(refused)
        store.write_later(self.tell(run.id, ["2"]))
        store.flush()
        assert self.words(store.read(lambda rows: rows.free_calls(run.id))) == ["1", "2"]

    # The clock.

    def test_the_clock_of_the_store_is_the_one_it_was_given(self, store: Store, clock: ManualClock) -> None:
        assert store.read(lambda rows: rows.now) == clock()
        later = clock.advance(timedelta(hours=1, microseconds=1))
        assert store.write(lambda rows: Change(rows.now)).result() == later
        assert store.read(lambda rows: rows.now).tzinfo is UTC

    @pytest.mark.parametrize("told", [True, False])
    def test_the_clock_never_goes_back(self, store: Store, clock: ManualClock, told: bool) -> None:
        run = self.start_run(store)
        clock.advance(timedelta(minutes=5))
        before = store.write(self.tell(run.id, ["1"]) if told else self.increment(run.id)).result()
        latest = clock()
        clock.advance(-timedelta(days=3))
        assert before is not None
        assert store.write(lambda rows: Change(rows.now)).result() == latest
        assert store.read(lambda rows: rows.now) == latest
        again = self.reopen(store)
        try:
            assert again.read(lambda rows: rows.now) == latest
            assert again.write(lambda rows: Change(rows.now)).result() == latest
        finally:
            again.close()

    # Reading.

    def test_a_read_is_one_snapshot(self, store: Store) -> None:
        run = self.start_run(store)

        def twice(rows: Rows) -> tuple[Run | None, Run | None, int]:
            before = rows.run(run.id)
            assert self.in_another_thread(lambda: store.write(self.increment(run.id)).result()) == 1
            assert self.in_another_thread(lambda: store.write(self.tell(run.id, ["1"])).result()) is not None
            return before, rows.run(run.id), len(rows.events(run.id, Page()))

        before, after, events = store.read(twice)
        assert before == after
        assert events == 0
        assert self.count(store, run.id) == 1

    def test_many_threads_read_at_once(self, store: Store) -> None:
        run = self.start_run(store)
        together = threading.Barrier(12)

        def look(_: int) -> Run | None:
            def query(rows: Rows) -> Run | None:
                together.wait()
                return rows.run(run.id)

            return store.read(query)

        with ThreadPoolExecutor(12) as threads:
            assert list(threads.map(look, range(12))) == [run] * 12

    def test_an_error_of_a_query_is_its_callers(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError):
            store.read(lambda _: 1 // 0)
        assert store.read(lambda rows: rows.freezes()) == []

    # Waiting for a change.

    def test_a_commit_wakes_whoever_waits(self, store: Store) -> None:
        run = self.start_run(store)
        woken: list[bool] = []
        waiting = [threading.Thread(target=lambda: woken.append(store.wait_for_change(NOBODY_WAITS_S))) for _ in "123"]
        for thread in waiting:
            thread.start()
        # A waiting thread that was not there yet when a commit came is woken by the next.
        self.wait_until(lambda: store.write(self.increment(run.id)).result() > 0 and len(woken) == 3)
        for thread in waiting:
            thread.join()
        assert woken == [True] * 3

    def test_waiting_ends_without_a_change(self, store: Store) -> None:
        while store.wait_for_change(0.02):
            pass
        assert store.wait_for_change(0) is False

    def test_a_change_between_two_waits_is_not_missed(self, store: Store) -> None:
        run = self.start_run(store)
        while store.wait_for_change(0.02):
            pass
        self.in_another_thread(lambda: store.write(self.increment(run.id)).result())
        assert store.wait_for_change(0) is True

    # Opening and closing.

    def test_name_and_key_stay(self, store: Store) -> None:
        name, key = store.namespace, store.namespace_key
        again = self.reopen(store)
        assert (again.namespace, again.namespace_key) == (name, key)
        assert len(key) == 32
        again.close()

    def test_closing_twice_is_fine_and_ends_everything(self, store: Store) -> None:
        store.close()
        store.close()
        calls: Sequence[Callable[[], Any]] = (
            lambda: store.write(lambda _: Change(None)),
            lambda: store.write_later(lambda _: Change(None)),
            lambda: store.read(lambda _: None),
            store.flush,
            lambda: store.wait_for_change(0),
        )
        for call in calls:
            with pytest.raises(StoreError) as raised:
                call()
            assert raised.value.code == "store_closed"
            assert raised.value.mend

    def test_closing_commits_what_waits(self, store: Store) -> None:
        run = self.start_run(store)
        pending: list[Future[Any]] = []
        for number in range(50):
            store.write_later(self.tell(run.id, [str(number)]))
            pending.append(store.write(self.increment(run.id)))
        again = self.reopen(store)
        try:
            assert [future.result(0) for future in pending] == list(range(1, 51))
            assert len(again.read(lambda rows: rows.free_calls(run.id))) == 50
        finally:
            again.close()
