"""An exception is not "did not happen": what comes of tools that raise, return what cannot be kept, or vanish."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from interlock import (
    ActionFailed,
    DidNotHappen,
    Happened,
    Interrupted,
    NoEffect,
    Refused,
    ResultNotStored,
    RolledBack,
)
from interlock.domain.errors import StoreError
from interlock.testing import FailingStore, MemoryStore, Rehearsal, found_done, found_failed, respond, run_again


def echo(to: str) -> str:
    return to


class Bank:
    """A tool that does its work and then fails, so many times."""

    def __init__(self, failures: int, error: BaseException | None = None) -> None:
        self.ledger: list[str] = []
        self.keys: list[str] = []
        self._failures = failures
        self._error = error or TimeoutError("no answer")

    def pay(self, what: str, key: str = "") -> str:
        self.ledger.append(what)
        self.keys.append(key)
        if self._failures:
            self._failures -= 1
            raise self._error
        return f"paid {what}"


def test_an_irreversible_tool_that_raises_is_in_doubt_and_never_retried_silently(both: Rehearsal) -> None:
    bank = Bank(1)
    pay = both.il.tool("irreversible", name="pay")(bank.pay)
    both.reviewer.script["pay"] = "approve"
    with both.il.run("job"):
        pay("rent")
    both.reviewer.decide_all()
    for _ in range(3):
        with both.il.run("job") as run:
            pay("rent")
        assert (bank.ledger, run.status, both.states("job")) == (["rent"], "waiting", ["in_doubt"])
    both.reviewer.decide(run_again())
    with both.il.run("job"):
        assert pay("rent") == "paid rent"
    assert bank.ledger == ["rent", "rent"]


def test_a_reversible_tool_that_raises_runs_again_up_to_three_times_then_the_agent_sees_the_error(
    both: Rehearsal,
) -> None:
    for failures, times, states in ((1, 2, ["done"]), (2, 3, ["done"]), (9, 3, ["failed"])):
        bank = Bank(failures)
        pay = both.il.tool("reversible", name=f"pay{failures}")(bank.pay)
        key = f"job {failures}"
        for _ in range(2):  # the second time from the record
            with both.il.run(key):
                if states == ["failed"]:
                    with pytest.raises(TimeoutError, match="no answer"):
                        pay("rent")
                else:
                    assert pay("rent") == "paid rent"
            assert (len(bank.ledger), both.states(key)) == (times, states)
    again = [event for event in both.events("job 2") if event.body.get("rerun")]
    assert [event.body["tries"] for event in again] == [2, 3]


def test_an_idempotent_tool_is_retried_with_the_same_key(both: Rehearsal) -> None:
    bank = Bank(2)
    pay = both.il.tool("compensable", name="pay", interrupt_policy="none", idempotent=True, idempotency_key="key")(
        bank.pay
    )
    with both.il.run("job") as run:
        assert pay("rent") == "paid rent"
        with pytest.raises(Exception, match="filled in by the system"):
            pay("rent", key="mine")
    assert run.status == "finished"
    assert len(set(bank.keys)) == 1
    assert len(bank.keys) == 3
    assert bank.keys[0]


def test_an_idempotent_tool_that_keeps_failing_is_in_doubt_after_three_tries(both: Rehearsal) -> None:
    bank = Bank(9)
    pay = both.il.tool("compensable", name="pay", interrupt_policy="none", idempotent=True)(bank.pay)
    with both.il.run("job") as run:
        pay("rent")
    assert (len(bank.ledger), run.status, both.states("job")) == (3, "waiting", ["in_doubt"])
    both.reviewer.decide(found_failed("the bank says no"))
    with pytest.raises(ActionFailed, match="the bank says no"), both.il.run("job"):
        pay("rent")
    assert len(bank.ledger) == 3


@pytest.mark.parametrize("declared", [(ValueError,), ValueError, (KeyError, ValueError)])
def test_an_error_that_is_declared_to_have_no_effect_is_a_failure(both: Rehearsal, declared: Any) -> None:
    bank = Bank(1, ValueError("not that much"))
    pay = both.il.tool("compensable", name="pay", interrupt_policy="none", no_effect_on=declared)(bank.pay)
    with pytest.raises(ValueError, match="not that much"), both.il.run("job"):
        pay("rent")
    assert both.states("job") == ["failed"]


def test_a_failure_is_raised_again_by_a_later_pass_without_running(both: Rehearsal) -> None:
    bank = Bank(1, NoEffect("the till is closed"))
    pay = both.il.tool("compensable", name="pay", interrupt_policy="none")(bank.pay)
    send: Callable[[str], str] = both.il.tool("irreversible", name="send")(echo)

    for _ in range(2):
        with both.il.run("job") as run:
            with pytest.raises(NoEffect, match="the till is closed"):
                pay("rent")
            send("sorry")
        assert (bank.ledger, run.status) == (["rent"], "waiting")


def test_a_failed_call_made_again_in_the_same_pass_is_attempt_two(both: Rehearsal) -> None:
    bank = Bank(1, NoEffect("busy"))
    pay = both.il.tool("compensable", name="pay")(bank.pay)
    both.reviewer.script["pay"] = "approve"

    def program() -> str:
        with both.il.run("job") as run:
            for _ in range(2):
                with suppress(NoEffect):
                    pay("rent")
        return run.status

    assert program() == "waiting"
    both.reviewer.decide_all()
    assert program() == "waiting"
    assert [(action.state.value, action.attempt) for action in both.actions("job")] == [("failed", 1), ("held", 2)]
    both.reviewer.decide_all()
    assert program() == "finished"
    assert len(bank.ledger) == 2


class Probe:
    """A probe that says what it is told to say, and remembers that it was asked."""

    def __init__(self, answer: Callable[[], object]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def __call__(self, what: str, key: str = "") -> object:
        self.asked.append((what, key))
        return self.answer()


def broken() -> object:
    raise ConnectionError("no network")


@pytest.mark.parametrize(
    ("answer", "states", "ledger"),
    [
        (lambda: Happened("receipt 7"), ["done"], ["rent"]),
        (Happened, ["done"], ["rent"]),
        (DidNotHappen, ["done"], ["rent", "rent"]),
        (lambda: DidNotHappen, ["done"], ["rent", "rent"]),
        (lambda: None, ["in_doubt"], ["rent"]),
        (lambda: True, ["in_doubt"], ["rent"]),
        (lambda: False, ["in_doubt"], ["rent"]),
        (lambda: "yes", ["in_doubt"], ["rent"]),
        (broken, ["in_doubt"], ["rent"]),
    ],
    ids=["happened", "happened_without_result", "not", "not_as_a_class", "none", "true", "false", "text", "raises"],
)
def test_a_probe_is_asked_about_a_doubt(
    both: Rehearsal, answer: Callable[[], object], states: list[str], ledger: list[str]
) -> None:
    bank, probe = Bank(1), Probe(answer)
    pay = both.il.tool("compensable", name="pay", interrupt_policy="none", probe=probe)(bank.pay)
    with both.il.run("job") as run:
        pay("rent")
    assert (bank.ledger, both.states("job")) == (ledger, states)
    assert probe.asked[0][0] == "rent"
    assert run.status == ("waiting" if states == ["in_doubt"] else "finished")


def test_a_probe_does_not_make_an_endless_loop_of_a_tool_that_always_fails(both: Rehearsal) -> None:
    bank, probe = Bank(9), Probe(DidNotHappen)
    pay = both.il.tool("compensable", name="pay", interrupt_policy="none", probe=probe)(bank.pay)
    with both.il.run("job") as run:
        pay("rent")
    assert (len(bank.ledger), run.status, both.states("job")) == (3, "waiting", ["in_doubt"])
    assert [card.card.kind.value for card in both.reviewer.open()] == ["reconcile"]


def test_the_reviewers_finding_becomes_the_result(both: Rehearsal) -> None:
    bank = Bank(1)
    pay = both.il.tool("compensable", name="pay", interrupt_policy="none")(bank.pay)
    with both.il.run("job"):
        pay("rent")
    both.reviewer.decide(found_done("paid by hand"))
    with both.il.run("job") as run:
        assert pay("rent") == "paid by hand"
    assert (bank.ledger, run.status) == (["rent"], "finished")


def test_a_finding_without_a_result_is_done_and_the_effect_is_not_repeated(both: Rehearsal) -> None:
    bank = Bank(1)
    pay = both.il.tool("compensable", name="pay", interrupt_policy="none")(bank.pay)
    with both.il.run("job"):
        pay("rent")
    both.reviewer.decide(found_done())
    with pytest.raises(ResultNotStored), both.il.run("job"):
        pay("rent")
    assert bank.ledger == ["rent"]


class Handle:
    """A thing that lives only in this process."""

    def __init__(self) -> None:
        self.open = True


def test_a_result_that_cannot_be_stored_reaches_the_live_caller_and_is_not_made_again(both: Rehearsal) -> None:
    opened: list[Handle] = []
    with pytest.warns(UserWarning, match="cannot be stored"):

        @both.il.tool("reversible")
        def connect(to: str) -> Handle:
            opened.append(Handle())
            return opened[-1]

    send: Callable[[str], str] = both.il.tool("irreversible", name="send")(echo)
    with both.il.run("job"):
        assert connect("bank") is opened[0]
        send("bob")
    with pytest.raises(ResultNotStored, match="Handle"), both.il.run("job"):
        connect("bank")
    assert len(opened) == 1


def test_a_declared_result_type_that_the_value_does_not_have_is_kept_as_what_it_is(stage: Rehearsal) -> None:
    @stage.il.tool("reversible")
    def count() -> int:
        return "three"  # type: ignore[return-value]

    with stage.il.run("job"):
        assert count() == "three"
    with stage.il.run("job"):
        assert count() == "three"


@dataclass
class Booking:
    room: str
    minutes: int


def test_results_come_back_as_their_declared_type(both: Rehearsal) -> None:
    @both.il.tool("reversible")
    def book(room: str) -> Booking:
        return Booking(room, 30)

    with both.il.run("job"):
        first = book("A")
    with both.il.run("job"):
        assert book("A") == first == Booking("A", 30)


@pytest.mark.parametrize("falsy", [0, "", False, None, [], {}, 0.0])
def test_falsy_results_survive(both: Rehearsal, falsy: object) -> None:
    calls: list[int] = []

    @both.il.tool("reversible")
    def ask() -> Any:
        calls.append(1)
        return falsy

    @both.il.tool("read_only")
    def look() -> Any:
        calls.append(1)
        return falsy

    send: Callable[[str], str] = both.il.tool("irreversible", name="send")(echo)
    for _ in range(2):
        with both.il.run("job"):
            for answer in (ask(), look()):
                assert answer == falsy
                assert type(answer) is type(falsy)
            send("bob")
    assert len(calls) == 2


def test_a_free_call_that_fails_is_asked_again_only_where_nothing_followed(both: Rehearsal) -> None:
    looked: list[str] = []

    @both.il.tool("read_only")
    def look(at: str) -> str:
        looked.append(at)
        raise LookupError(at)

    send: Callable[[str], str] = both.il.tool("irreversible", name="send")(echo)
    for _ in range(2):
        with both.il.run("followed"):
            with suppress(LookupError):
                look("x")
            send("bob")
    assert looked == ["x"]
    for _ in range(2):
        with pytest.raises(LookupError), both.il.run("last"):
            look("y")
    assert looked == ["x", "y", "y"]


def calls_of_one_pass() -> int:
    """How often a pass with one call turns to its store."""
    counting = FailingStore(MemoryStore())
    with Rehearsal(store=counting) as stage:
        with stage.il.run("job"):
            stage.il.tool("compensable", name="pay", interrupt_policy="none")(Bank(0).pay)("rent")
        return len(counting.calls)


def test_a_store_that_fails_at_any_call_leaves_a_result_or_a_doubt_and_never_a_second_effect() -> None:
    for number in range(1, calls_of_one_pass() + 1):
        for when in ("before", "after"):
            bank = Bank(0)
            failing = FailingStore(MemoryStore(), number, when)  # type: ignore[arg-type]
            with Rehearsal(store=failing) as stage:
                pay = stage.il.tool("compensable", name="pay", interrupt_policy="none")(bank.pay)
                with suppress(StoreError, Interrupted), stage.il.run("job"):
                    pay("rent")
                for _ in range(2):
                    with stage.il.run("job") as run:
                        pay("rent")
                (action,) = stage.actions("job")
                assert (action.state.value, len(bank.ledger), run.status) in (
                    ("done", 1, "finished"),
                    ("in_doubt", 0, "waiting"),
                    ("in_doubt", 1, "waiting"),
                ), f"call {number}, {when}"


def test_what_a_lost_process_executed_is_in_doubt_and_its_late_word_settles_it(tmp_path: Any) -> None:
    with Rehearsal(lease=timedelta(seconds=30)) as stage:
        bank = Bank(0)

        def slow(what: str) -> str:
            stage.clock.advance(timedelta(seconds=31))
            bank.pay(what)
            other = stage.another()
            seen: list[str] = []
            with suppress(Interrupted), other.run("job") as run:
                other.tool("compensable", name="slow", interrupt_policy="none")(slow)(what)
            seen.append(run.status)
            assert seen == ["waiting"]
            assert stage.states("job") == ["in_doubt"]
            return f"paid {what}"

        slow_ = stage.il.tool("compensable", name="slow", interrupt_policy="none")(slow)
        with suppress(Exception), stage.il.run("job"):
            slow_("rent")
        assert (bank.ledger, stage.states("job")) == (["rent"], ["done"])


def test_rolled_back_raises_instead_of_the_old_success(both: Rehearsal) -> None:
    ledger: list[str] = []

    def cancel(room: str) -> None:
        ledger.append(f"cancelled {room}")

    @both.il.tool("compensable", interrupt_policy="none", compensate=cancel)
    def book(room: str) -> str:
        ledger.append(f"booked {room}")
        return room

    with both.il.run("job"):
        book("A")
    (action,) = both.actions("job")
    both.reviewer.desk.rollback(action.id)
    both.reviewer.desk.rollback(action.id)
    worker = both.il.worker()
    worker.run_until_idle()
    worker.run_until_idle()
    assert ledger == ["booked A", "cancelled A"]
    with pytest.raises(RolledBack), both.il.run("job"):
        book("A")
    with pytest.raises(Exception, match="not_done"):
        both.reviewer.desk.rollback(action.id)


@pytest.mark.parametrize(
    ("precheck", "state"),
    [
        (lambda room: True, "rolled_back"),
        (lambda room: False, "rollback_conflict"),
        (lambda room: 1, "rollback_conflict"),
    ],
)
def test_a_precheck_decides_whether_a_rollback_still_fits(
    both: Rehearsal, precheck: Callable[[str], object], state: str
) -> None:
    ledger: list[str] = []

    @both.il.tool("compensable", interrupt_policy="none", compensate=ledger.append, precheck=precheck)
    def book(room: str) -> str:
        return room

    with both.il.run("job"):
        book("A")
    both.reviewer.desk.rollback(both.actions("job")[0].id)
    both.il.worker().run_until_idle()
    assert both.states("job") == [state]
    assert ledger == (["A"] if state == "rolled_back" else [])
    if state == "rollback_conflict":
        with both.il.run("job"):
            assert book("A") == "A", "nothing was undone, so the old success stands"


def test_a_rollback_that_fails_or_is_interrupted_is_over(both: Rehearsal) -> None:
    def cancel(room: str) -> None:
        raise KeyboardInterrupt if room == "B" else ConnectionError("no network")

    @both.il.tool("compensable", interrupt_policy="none", compensate=cancel)
    def book(room: str) -> str:
        return room

    with both.il.run("job"):
        book("A")
        book("B")
    for action in both.actions("job"):
        both.reviewer.desk.rollback(action.id)
    with suppress(KeyboardInterrupt):
        both.il.worker().run_until_idle()
    both.il.worker().run_until_idle()
    assert both.states("job") == ["rollback_failed", "rollback_failed"]


def test_what_a_person_answered_cannot_be_rolled_back(stage: Rehearsal) -> None:
    ledger: list[str] = []

    @stage.il.tool("compensable", compensate=ledger.append)
    def book(room: str) -> str:
        return room

    with stage.il.run("job"):
        book("A")
    stage.reviewer.decide(respond("B"))
    with stage.il.run("job"):
        assert book("A") == "B"
    with pytest.raises(Exception, match="not_done"):
        stage.reviewer.desk.rollback(stage.actions("job")[0].id)


def test_a_worker_leaves_a_rollback_to_one_that_has_the_tool(both: Rehearsal) -> None:
    ledger: list[str] = []

    @both.il.tool("compensable", interrupt_policy="none", compensate=ledger.append)
    def book(room: str) -> str:
        return room

    with both.il.run("job"):
        book("A")
    both.reviewer.desk.rollback(both.actions("job")[0].id)
    stranger = both.another()
    for _ in range(10):
        stranger.worker().run_until_idle()
        both.clock.advance(timedelta(minutes=5))
    both.il.worker().run_until_idle()
    assert ledger == ["A"]


def test_a_refusal_inside_a_tool_leaves_no_false_success(stage: Rehearsal) -> None:
    send: Callable[[str], str] = stage.il.tool("irreversible", name="send")(echo)

    @stage.il.tool("compensable", interrupt_policy="none")
    def plan(to: str) -> str:
        return send(to)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with suppress(Refused), stage.il.run("job") as run:
            plan("bob")
    assert run.status == "waiting"
    assert stage.states("job")[0] == "in_doubt"
