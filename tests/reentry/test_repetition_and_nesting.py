"""The same call twice, calls within calls."""

import asyncio
from collections.abc import Callable

import pytest

from interlock import Refused
from interlock.testing import Rehearsal


def test_the_same_irreversible_call_twice_is_two_cards_and_the_second_says_so(both: Rehearsal) -> None:
    sent: list[str] = []

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        sent.append(to)
        return to

    @both.il.workflow
    def agent() -> None:
        send("bob")
        send("bob")

    run = agent.start(key="job")
    both.reviewer.decide("approve")
    run = agent.start(key="job")
    assert (sent, run.status) == (["bob"], "waiting")
    card = both.reviewer.open()[0]
    assert "suspected_duplicate" in [reason.code for reason in card.about.action.ruling.reasons]
    assert "identical to one that ran" in card.card.why
    both.reviewer.decide("approve")
    assert agent.start(key="job").status == "finished"
    assert sent == ["bob", "bob"]


def test_a_compensable_call_that_nobody_is_asked_about_is_held_the_second_time(both: Rehearsal) -> None:
    booked: list[str] = []

    @both.il.tool("compensable", interrupt_policy="none")
    def book(room: str) -> str:
        booked.append(room)
        return room

    with both.il.run("job") as run:
        book("A")
        book("B")
        book("A")
    assert (booked, run.status, both.states("job")) == (["A", "B"], "waiting", ["done", "done", "held"])


def test_the_record_profile_asks_nobody_even_about_a_suspected_duplicate() -> None:
    booked: list[str] = []
    with Rehearsal(profile="record") as stage:

        @stage.il.tool("irreversible")
        def book(room: str) -> str:
            booked.append(room)
            return room

        with stage.il.run("job") as run:
            book("A")
            book("A")
        assert (booked, run.status) == (["A", "A"], "finished")


def test_reversible_calls_may_be_repeated_and_each_is_its_own(both: Rehearsal) -> None:
    logged: list[str] = []

    @both.il.tool("reversible")
    def log(line: str) -> int:
        logged.append(line)
        return len(logged)

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        return to

    def program() -> list[int]:
        with both.il.run("job"):
            numbers = [log("again") for _ in range(3)]
            send("bob")
            return numbers
        return numbers

    assert program() == [1, 2, 3]
    both.reviewer.decide("approve")
    assert program() == [1, 2, 3]
    assert len(logged) == 3


def test_an_occurrence_key_says_that_repetition_is_meant(both: Rehearsal) -> None:
    paid: list[tuple[str, int]] = []

    @both.il.tool("compensable", interrupt_policy="none", occurrence_key="month")
    def pay(what: str, month: int) -> str:
        paid.append((what, month))
        return f"{what} {month}"

    @both.il.tool("compensable", interrupt_policy="none", occurrence_key=lambda what: what)
    def tip(what: str) -> str:
        paid.append((what, 0))
        return what

    with both.il.run("job") as run:
        assert pay("rent", 1) == "rent 1"
        assert pay("rent", 2) == "rent 2"
        assert pay("rent", 1) == "rent 1"
        assert [tip("waiter") for _ in range(3)] == ["waiter"] * 3
    assert run.status == "finished"
    assert paid == [("rent", 1), ("rent", 2), ("waiter", 0)]


def test_calls_in_a_loop_with_equal_and_other_arguments_are_found_again(both: Rehearsal) -> None:
    logged: list[int] = []

    @both.il.tool("reversible")
    def log(number: int) -> int:
        logged.append(number)
        return number * 10

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        return to

    for _ in range(2):
        with both.il.run("job"):
            assert [log(number % 3) for number in range(6)] == [0, 10, 20, 0, 10, 20]
            send("bob")
        both.reviewer.script["send"] = "approve"
        both.reviewer.decide_all()
    assert logged == [0, 1, 2, 0, 1, 2]


class Composites:
    """A pipeline of a pipeline of tools, with a ledger."""

    def __init__(self, stage: Rehearsal) -> None:
        self.ledger: list[str] = []
        self.fail: list[Exception] = []
        il, ledger = stage.il, self.ledger

        @il.tool("reversible")
        def note(line: str) -> str:
            ledger.append(f"noted {line}")
            return line

        @il.tool("irreversible")
        def send(to: str) -> str:
            ledger.append(f"sent {to}")
            return f"sent {to}"

        @il.tool("reversible", composite=True)
        def inner(to: str) -> str:
            ledger.append("inner entered")
            note(f"writing to {to}")
            return send(to)

        @il.tool("reversible", composite=True)
        def outer(to: str) -> str:
            note("outer begins")
            first = inner(to)
            if self.fail:
                raise self.fail.pop()
            note("outer ends")
            return first

        self.outer: Callable[[str], str] = outer
        self.note: Callable[[str], str] = note


def test_a_composite_in_a_composite_pauses_and_goes_on_within(both: Rehearsal) -> None:
    tools = Composites(both)
    with both.il.run("job") as run:
        tools.outer("bob")
    assert (run.status, both.states("job")) == ("waiting", ["executing", "done", "executing", "done", "held"])
    both.reviewer.decide("approve")
    with both.il.run("job") as run:
        assert tools.outer("bob") == "sent bob"
    assert run.status == "finished"
    assert set(both.states("job")) == {"done"}
    assert [line for line in tools.ledger if line != "inner entered"] == [
        "noted outer begins",
        "noted writing to bob",
        "sent bob",
        "noted outer ends",
    ]
    parents = {action.tool: action.parent for action in both.actions("job")}
    ids = {action.tool: action.id for action in both.actions("job")}
    assert (parents["inner"], parents["send"]) == (ids["outer"], ids["inner"])


def test_a_composite_that_is_done_is_not_entered_again(both: Rehearsal) -> None:
    tools = Composites(both)
    both.reviewer.script["send"] = "approve"
    for _ in range(3):
        with both.il.run("job"):
            tools.outer("bob")
        both.reviewer.decide_all()
    entered = tools.ledger.count("inner entered")
    with both.il.run("job"):
        assert tools.outer("bob") == "sent bob"
    assert tools.ledger.count("inner entered") == entered == 2


def test_a_composite_that_fails_and_is_retried_does_not_repeat_what_was_done_inside(both: Rehearsal) -> None:
    tools = Composites(both)
    with both.il.run("job"):
        tools.outer("bob")
    both.reviewer.decide("approve")
    tools.fail.append(ValueError("no paper"))
    with pytest.raises(ValueError, match="no paper"), both.il.run("job"):
        tools.outer("bob")
    assert tools.ledger.count("sent bob") == 1
    with both.il.run("job") as run:
        assert tools.outer("bob") == "sent bob"
    assert (run.status, both.reviewer.open()) == ("finished", ())
    assert tools.ledger.count("sent bob") == 1
    assert tools.ledger.count("noted outer begins") == 1


def test_a_composite_that_needs_a_yes_itself_is_asked_about_once(both: Rehearsal) -> None:
    ledger: list[str] = []

    @both.il.tool("compensable")
    def book(room: str) -> str:
        ledger.append(room)
        return room

    @both.il.tool("irreversible", composite=True)
    def trip(rooms: list[str]) -> list[str]:
        return [book(room) for room in rooms]

    both.reviewer.script["*"] = "approve"
    seen: list[str] = []
    for _ in range(5):
        with both.il.run("job") as run:
            trip(["A", "B"])
        seen += [view.about.action.tool for view in both.reviewer.open()]
        both.reviewer.decide_all()
    assert seen == ["trip", "book", "book"]
    assert (ledger, run.status) == (["A", "B"], "finished")


def test_a_held_call_inside_an_executing_tool_is_refused_with_the_mend(both: Rehearsal) -> None:
    ledger: list[str] = []
    mends: list[str] = []

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        ledger.append(to)
        return to

    @both.il.tool("reversible")
    def plan(to: str) -> str:
        try:
            return send(to)
        except Refused as refused:
            ledger.append(refused.kind)
            mends.append(refused.mend)
            return "only planned"

    with both.il.run("job") as run:
        assert plan("bob") == "only planned"
    assert (ledger, run.status, both.reviewer.open()) == (["nested_pause"], "finished", ())
    assert "composite=True" in mends[0]


def test_a_held_call_inside_a_free_tool_is_refused_too(stage: Rehearsal) -> None:
    ledger: list[str] = []

    @stage.il.tool("irreversible")
    def send(to: str) -> str:
        ledger.append(to)
        return to

    @stage.il.tool("read_only")
    def look(to: str) -> str:
        try:
            return send(to)
        except Refused as refused:
            return refused.kind

    with stage.il.run("job") as run:
        assert look("bob") == "nested_pause"
        assert stage.il.step(look, "eve") == "nested_pause"
    assert (ledger, run.status) == ([], "finished")


def test_a_call_inside_an_executing_tool_that_nobody_is_asked_about_runs_once(both: Rehearsal) -> None:
    ledger: list[str] = []

    @both.il.tool("reversible")
    def log(line: str) -> str:
        ledger.append(line)
        return line

    @both.il.tool("reversible")
    def work(line: str) -> str:
        return log(line) + "!"

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        return to

    for _ in range(2):
        with both.il.run("job"):
            assert work("a") == "a!"
            send("bob")
    assert ledger == ["a"]


def test_an_asynchronous_composite_holds_its_children_side_by_side(both: Rehearsal) -> None:
    ledger: list[str] = []

    @both.il.tool("irreversible")
    async def send(to: str) -> str:
        ledger.append(to)
        return to

    @both.il.tool("reversible", composite=True)
    async def campaign(people: list[str]) -> list[str]:
        return list(await asyncio.gather(*(send(each) for each in people)))

    @both.il.workflow
    async def agent() -> list[str]:
        return await campaign(["ann", "bob", "eve"])

    async def first() -> str:
        return (await agent.start(key="job")).status

    assert asyncio.run(first()) == "waiting"
    assert len(both.reviewer.open()) == 3
    both.reviewer.script["send"] = "approve"
    both.reviewer.decide_all()
    assert both.il.worker().run_until_idle() >= 1
    assert sorted(ledger) == ["ann", "bob", "eve"]
    assert both.il.kernel.run("job").state.value == "finished"  # type: ignore[union-attr, arg-type]


def test_a_run_inside_a_run_is_refused_however_it_is_started(stage: Rehearsal) -> None:
    @stage.il.workflow
    def other() -> int:
        return 1

    with stage.il.run("job"):
        for start in (lambda: stage.il.run("inner").__enter__(), other.start, other.submit):
            with pytest.raises(Exception, match="nested_run"):
                start()
        assert other() == 1, "as a function it belongs to the run"
