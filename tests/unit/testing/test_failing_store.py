"""The store that fails on purpose, and the clock that obeys."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from interlock.domain.errors import RunError, StoreError
from interlock.domain.ids import RunId
from interlock.ports.store import Change, Page, Rows
from interlock.stores.memory import MemoryStore
from interlock.testing.clock import ManualClock
from interlock.testing.failing_store import FailingStore, Moment
from interlock.testing.sample_rows import Samples

SAMPLES = Samples()


def start_a_run(rows: Rows) -> Change[str]:
    run = SAMPLES.run(rows.now, run="r")
    return Change(run.id, runs=[run])


def refuse(rows: Rows) -> Change[None]:
    run = SAMPLES.run(rows.now, run="r")
    return Change(None, runs=[run], refusal=RunError("busy", "no"))


def look(rows: Rows) -> bool:
    return rows.run(RunId("r")) is not None


def calls(store: FailingStore) -> dict[str, Callable[[], Any]]:
    return {
        "write": lambda: store.write(start_a_run),
        "write_later": lambda: store.write_later(start_a_run),
        "read": lambda: store.read(look),
        "flush": store.flush,
    }


def test_calls_are_counted_and_named() -> None:
    store = FailingStore(MemoryStore())
    for call in calls(store).values():
        call()
    store.write(lambda _: Change(None)).result()
    assert store.calls == [
        (1, "write", "start_a_run"),
        (2, "write_later", "start_a_run"),
        (3, "read", "look"),
        (4, "flush", ""),
        (5, "write", "test_calls_are_counted_and_named.<lambda>"),
    ]


@pytest.mark.parametrize("method", ["write", "write_later", "read", "flush"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_it_fails_at_the_chosen_call_and_moment(method: str, when: Moment) -> None:
    inner = MemoryStore()
    store = FailingStore(inner, 2, when)
    store.read(look)
    with pytest.raises(StoreError) as raised:
        calls(store)[method]()
    assert raised.value.code == "injected"
    carried_out = when == "after" and method.startswith("write")
    assert inner.read(look) is carried_out
    calls(store)[method]()
    assert len(store.calls) == 3


def test_it_acts_as_it_is_told() -> None:
    acts: list[bool] = []
    inner = MemoryStore()
    store = FailingStore(inner, 1, "after", lambda: acts.append(inner.read(look)))
    future = store.write(refuse)
    assert acts == [True]
    with pytest.raises(RunError):
        future.result()


def test_the_rest_is_the_inner_store() -> None:
    inner = MemoryStore("mine")
    store = FailingStore(inner)
    assert (store.namespace, store.namespace_key) == ("mine", inner.namespace_key)
    assert store.wait_for_change(0) is False
    assert store.read(lambda rows: rows.events(None, Page())) == []
    store.close()
    with pytest.raises(StoreError):
        inner.flush()


def test_the_clock_moves_only_when_it_is_told() -> None:
    clock = ManualClock(datetime(2026, 5, 1, tzinfo=UTC))
    assert clock() == clock()
    assert clock.advance(timedelta(minutes=1)) == clock() == datetime(2026, 5, 1, 0, 1, tzinfo=UTC)
    clock.set(datetime(2020, 1, 1, tzinfo=UTC))
    assert clock().year == 2020
