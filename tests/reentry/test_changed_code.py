"""The program is not the same any more when the run goes on: what is matched, what diverges, what is left behind."""

import asyncio
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from interlock import Diverged, Interlock, InterlockError, Refused
from interlock.testing import Rehearsal


class Office:
    """Tools with a ledger, as often as a process starts."""

    def __init__(self, il: Interlock, ledger: list[str]) -> None:
        self.il = il

        @il.tool("irreversible")
        def send(to: str) -> str:
            ledger.append(f"sent to {to}")
            return f"sent to {to}"

        @il.tool("reversible")
        def log(line: str) -> str:
            ledger.append(f"logged {line}")
            return line

        self.send: Callable[[str], str] = send
        self.log: Callable[[str], str] = log


def test_the_same_code_in_another_process_goes_on_where_it_stood(both: Rehearsal) -> None:
    ledger: list[str] = []

    def program(office: Office) -> str:
        with office.il.run("job") as run:
            office.log("start")
            office.send("bob")
            office.log("end")
        return run.status

    assert program(Office(both.il, ledger)) == "waiting"
    both.reviewer.decide("approve")
    assert program(Office(both.another(), ledger)) == "finished"
    assert ledger == ["logged start", "sent to bob", "logged end"]


def test_changed_arguments_diverge_and_nothing_runs(both: Rehearsal) -> None:
    ledger: list[str] = []

    def program(to: str) -> None:
        office = Office(both.another(), ledger)
        with office.il.run("job"):
            with suppress(Refused):
                office.send(to)
            office.log("after")

    program("bob")
    both.reviewer.decide("approve")
    with pytest.raises(Diverged) as diverged:
        program("eve")
    assert ledger == []
    assert (diverged.value.expected, diverged.value.got) == ('send(to="bob")', 'send(to="eve")')
    run = both.il.kernel.run("job")  # type: ignore[arg-type]
    assert run is not None
    assert (run.state.value, both.states("job")) == ("diverged", ["cleared"])
    assert "expected send" in run.attention
    with pytest.raises(Exception, match="accept-divergence"):
        program("eve")

    both.reviewer.desk.retry("job", accept_divergence=True)
    program("eve")
    assert ledger == []
    both.reviewer.decide("approve")
    program("eve")
    assert ledger == ["sent to eve", "logged after"]
    assert [action.refusal and action.refusal.value for action in both.actions("job")] == ["superseded", None, None]
    assert both.il.kernel.run("job").state.value == "needs_attention"  # type: ignore[union-attr, arg-type]


def test_a_divergence_is_accepted_only_by_an_explicit_yes(stage: Rehearsal) -> None:
    for odd in ("no", 1, None, "true"):
        with pytest.raises(Exception, match="accept_divergence"):
            stage.reviewer.desk.retry("job", accept_divergence=odd)  # type: ignore[arg-type]


def test_after_putting_the_old_code_back_a_diverged_run_goes_on(stage: Rehearsal) -> None:
    ledger: list[str] = []
    office = Office(stage.il, ledger)

    def program(to: str) -> None:
        with stage.il.run("job"):
            office.send(to)

    program("bob")
    stage.reviewer.decide("approve")
    with pytest.raises(Diverged):
        program("eve")
    stage.reviewer.desk.retry("job")
    program("bob")
    assert (ledger, stage.states("job")) == (["sent to bob"], ["done"])


def test_a_call_added_before_recorded_ones_diverges(both: Rehearsal) -> None:
    ledger: list[str] = []
    office = Office(both.il, ledger)
    with both.il.run("job"):
        office.send("bob")
    both.reviewer.decide("approve")
    with pytest.raises(Diverged), both.il.run("job"):
        [office.log("new"), office.send("bob")]
    assert ledger == []


def test_a_call_added_behind_recorded_ones_runs(both: Rehearsal) -> None:
    ledger: list[str] = []
    office = Office(both.il, ledger)
    with both.il.run("job"):
        office.send("bob")
    both.reviewer.decide("approve")
    with both.il.run("job") as run:
        office.send("bob")
        office.log("new")
    assert (ledger, run.status) == (["sent to bob", "logged new"], "finished")


def test_an_approved_call_that_is_no_longer_made_is_superseded_and_somebody_should_look(both: Rehearsal) -> None:
    ledger: list[str] = []
    office = Office(both.il, ledger)
    with both.il.run("job"):
        office.send("bob")
    both.reviewer.decide("approve")
    with both.il.run("job") as run:
        pass
    assert (ledger, run.status, both.states("job")) == ([], "needs_attention", ["refused"])
    assert "send" in run.attention
    assert both.actions("job")[0].refusal == "superseded"
    assert "approval" in run.attention


def test_a_held_call_that_is_no_longer_made_is_superseded_quietly(stage: Rehearsal) -> None:
    office = Office(stage.il, [])
    with stage.il.run("job"):
        office.send("bob")
    with stage.il.run("job") as run:
        pass
    assert (run.status, stage.states("job"), stage.reviewer.open()) == ("finished", ["refused"], ())


def test_a_call_in_the_middle_that_is_gone_diverges_at_the_next_new_call(stage: Rehearsal) -> None:
    ledger: list[str] = []
    office = Office(stage.il, ledger)
    with stage.il.run("job"):
        office.log("first")
        office.log("second")
        office.send("bob")
    stage.reviewer.decide("approve")
    with pytest.raises(Diverged) as diverged, stage.il.run("job"):
        [office.log("first"), office.log("third")]
    assert diverged.value.expected == 'log(line="second")'
    assert ledger == ["logged first", "logged second"]


def test_what_is_random_diverges_and_what_is_journalled_does_not(both: Rehearsal) -> None:
    ledger: list[str] = []
    office = Office(both.il, ledger)
    numbers = iter(range(100))

    with both.il.run("careless"):
        office.log(f"order {next(numbers)}")
        office.send("bob")
    with pytest.raises(Diverged), both.il.run("careless"):
        [office.log(f"order {next(numbers)}"), office.send("bob")]

    def draw() -> int:
        return random.randrange(10**12)

    orders: list[int] = []
    for _ in range(3):
        with both.il.run("careful") as run:
            orders.append(both.il.step(draw))
            office.log(f"order {orders[-1]}")
            office.send("bob")
        both.reviewer.script["send"] = "approve"
        both.reviewer.decide_all()
    assert run.status == "finished"
    assert len(set(orders)) == 1
    assert ledger.count(f"logged order {orders[0]}") == 1


def test_a_journalled_step_is_given_what_can_be_stored_and_told_so_before_it_runs(stage: Rehearsal) -> None:
    asked: list[str] = []

    class Client:
        def ask(self, question: str) -> str:
            asked.append(question)
            return question.upper()

    def ask(client: Client, question: str) -> str:
        return client.ask(question)

    client = Client()
    with stage.il.run("job"):
        with pytest.raises(InterlockError, match="lambda"):
            stage.il.step(ask, client, "why?")
        assert stage.il.step(lambda: ask(client, "why?")) == "WHY?"
    assert asked == ["why?"]


def test_a_new_optional_argument_does_not_lose_what_was_approved(both: Rehearsal) -> None:
    ledger: list[str] = []

    def program(il: Interlock, book: Callable[..., str]) -> str:
        book.__qualname__ = "book"  # the same place in the same module
        guarded = il.guard(book, reversibility="compensable")
        with il.run("job") as run:
            guarded("A")
        return run.status

    def before(il: Interlock) -> str:
        def book(room: str) -> str:
            raise AssertionError(room)

        return program(il, book)

    def after(il: Interlock) -> str:
        def book(room: str, catering: bool = False, guests: int = 2) -> str:
            ledger.append(f"{room} {catering} {guests}")
            return room

        return program(il, book)

    assert before(both.il) == "waiting"
    both.reviewer.decide("approve")
    assert after(both.another()) == "finished"
    assert ledger == ["A False 2"]


def named(
    il: Interlock, ledger: list[str], reversibility: str, version: int, **keywords: object
) -> Callable[[str], str]:
    """The same tool in another version: its schema says which."""
    if version == 1:

        def tool(to: str) -> str:
            ledger.append(to)
            return to

    else:

        def tool(to: str, cc: str = "") -> str:  # type: ignore[misc]
            ledger.append(to)
            return to

    return il.tool(reversibility, name="send", **keywords)(tool)  # type: ignore[arg-type, return-value]


def test_an_irreversible_call_approved_under_another_version_is_looked_at_again(both: Rehearsal) -> None:
    ledger: list[str] = []
    with both.il.run("job"):
        named(both.il, ledger, "irreversible", 1)("bob")
    both.reviewer.decide("approve")
    new = both.another()
    send = named(new, ledger, "irreversible", 2)
    with new.run("job") as run:
        send("bob")
    assert (ledger, run.status, both.states("job")) == ([], "waiting", ["held"])
    assert "another version" in both.reviewer.open()[0].card.why
    both.reviewer.decide("approve")
    with new.run("job") as run:
        send("bob")
    assert (ledger, run.status) == (["bob"], "finished")


def test_a_tool_whose_reach_changed_is_refused(both: Rehearsal) -> None:
    ledger: list[str] = []
    with both.il.run("job"):
        named(both.il, ledger, "irreversible", 1)("bob")
    both.reviewer.decide("approve")
    new = both.another()
    send = named(new, ledger, "irreversible", 1, reach="outward")
    with pytest.raises(Refused) as refused, new.run("job"):
        send("bob")
    assert (refused.value.kind, ledger) == ("tool_changed", [])
    with new.run("job") as run:
        send("bob")
    assert (run.status, both.states("job")) == ("waiting", ["refused", "held"])


def test_a_policy_that_became_stricter_asks_about_what_was_free_before(both: Rehearsal) -> None:
    ledger: list[str] = []
    new = both.another()
    free = named(both.il, ledger, "compensable", 1, interrupt_policy="none")
    strict = named(new, ledger, "compensable", 1, interrupt_policy="deny")
    both.reviewer.desk.freeze()
    with both.il.run("job"):
        free("bob")
    both.reviewer.desk.release()
    with pytest.raises(Refused) as refused, new.run("job"):
        strict("bob")
    assert (refused.value.kind, ledger) == ("denied", [])


def test_an_approval_has_an_age(both: Rehearsal) -> None:
    ledger: list[str] = []
    office = Office(both.il, ledger)
    with both.il.run("job"):
        office.send("bob")
    both.reviewer.decide("approve")
    both.clock.advance(timedelta(hours=1, seconds=1))
    with both.il.run("job") as run:
        office.send("bob")
    assert (ledger, run.status, both.states("job")) == ([], "waiting", ["held"])
    assert "did not run within" in both.reviewer.open()[0].card.why
    assert len({card.id for card in both.reviewer.open()[0].about.cards}) == 2
    both.reviewer.decide("approve")
    both.clock.advance(timedelta(minutes=59))
    with both.il.run("job") as run:
        office.send("bob")
    assert (ledger, run.status) == (["sent to bob"], "finished")


def test_tasks_keep_their_names_whatever_other_loops_do(stage: Rehearsal) -> None:
    ledger: list[str] = []
    stop = threading.Event()

    @stage.il.tool("reversible")
    async def log(line: str) -> str:
        ledger.append(line)
        return line

    @stage.il.tool("irreversible")
    async def send(to: str) -> str:
        ledger.append(to)
        return to

    def noise() -> None:
        async def busy() -> None:
            while not stop.is_set():
                await asyncio.create_task(asyncio.sleep(0))

        asyncio.run(busy())

    @stage.il.workflow
    def agent() -> list[str]:
        async def main() -> list[str]:
            return list(await asyncio.gather(*(log(f"{n}") for n in range(3)), send("bob")))

        return asyncio.run(main())

    thread = threading.Thread(target=noise)
    thread.start()
    try:
        stage.reviewer.script["send"] = "approve"
        assert agent.start(key="job").status == "waiting"
        stage.reviewer.decide_all()
        for _ in range(3):
            assert agent.start(key="job").result == ["0", "1", "2", "bob"]
    finally:
        stop.set()
        thread.join()
    assert sorted(ledger) == ["0", "1", "2", "bob"]
