"""Checks of the team's own before and after a call, and what a run may do at all."""

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from interlock import Refused
from interlock.domain.errors import SettingsError
from interlock.testing import Rehearsal, modify, respond


def sender(stage: Rehearsal) -> tuple[Callable[[str], str], list[str]]:
    """An irreversible tool, and what it did."""
    sent: list[str] = []

    @stage.il.tool("irreversible")
    def send(to: str) -> str:
        sent.append(to)
        return to

    return send, sent


def writer(stage: Rehearsal) -> tuple[Callable[[str], str], list[str]]:
    """A tool that can be undone, and what it did."""
    written: list[str] = []

    @stage.il.tool("reversible")
    def write(line: str) -> str:
        written.append(line)
        return line

    return write, written


def reasons(stage: Rehearsal) -> list[str]:
    (view,) = stage.reviewer.open()
    return [reason.code for reason in view.about.action.ruling.reasons]


# ---------------------------------------------------------------------------------------------------- checks


def test_a_vetoing_check_refuses_before_anybody_is_asked_and_its_words_reach_the_agent(both: Rehearsal) -> None:
    send, sent = sender(both)

    @both.il.before
    def known_address(call: Any) -> None:
        if "@" not in call.arguments["to"]:
            call.deny(f"{call.arguments['to']} is no address")

    with both.il.run("job"), pytest.raises(Refused) as refused:
        send("bob")
    assert refused.value.kind == "denied"
    assert refused.value.words.startswith("the check known_address says: bob is no address")
    assert (sent, both.reviewer.open()) == ([], ())


def test_a_crashing_check_holds_and_says_so_even_what_nobody_is_asked_about(both: Rehearsal) -> None:
    write, written = writer(both)

    @both.il.before
    def broken(call: Any) -> None:
        raise LookupError("no such rule")

    with both.il.run("job") as run:
        write("a")
    assert (run.status, written) == ("waiting", [])
    (view,) = both.reviewer.open()
    assert view.card.why.startswith("the check broken failed: LookupError: no such rule")


class Ends(BaseException):
    """Something that no `except Exception` sees."""


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), Ends("no more")])
@pytest.mark.parametrize("within", [None, 5])
def test_a_check_that_would_end_the_process_holds_the_call(
    stage: Rehearsal, error: BaseException, within: float | None
) -> None:
    write, written = writer(stage)

    @stage.il.before(within=within)
    def broken(call: Any) -> None:
        raise error

    with stage.il.run("job") as run:
        write("a")
    assert (run.status, written) == ("waiting", [])
    (view,) = stage.reviewer.open()
    assert view.card.why.startswith(f"the check broken failed: {type(error).__name__}")


def test_a_check_is_stopped_by_ctrl_c_like_everything_else(stage: Rehearsal) -> None:
    write, written = writer(stage)

    @stage.il.before
    def broken(call: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), stage.il.run("job"):
        write("a")
    assert written == []


@pytest.mark.parametrize("error", [SystemExit(3), Ends("no more")])
def test_an_observer_that_would_end_the_process_changes_nothing(stage: Rehearsal, error: BaseException) -> None:
    write, written = writer(stage)

    @stage.il.after
    def broken(call: Any, outcome: str, result: object) -> None:
        raise error

    with stage.il.run("job") as run:
        assert write("a") == "a"
    assert (run.status, written, stage.states("job")) == ("finished", ["a"], ["done"])


def test_a_slow_check_is_not_waited_for_beyond_its_time_and_its_late_word_changes_nothing(both: Rehearsal) -> None:
    late, done = threading.Event(), threading.Event()

    write, _ = writer(both)

    @both.il.before(within=0.05)
    def slow(call: Any) -> None:
        if not late.is_set():
            late.wait(30)
            call.deny("too late")
            done.set()

    def program() -> str:
        with both.il.run("job") as run:
            write("a")
        return run.status

    assert program() == "waiting"
    assert reasons(both)[0] == "check_late"
    late.set()
    assert done.wait(30)
    both.reviewer.decide("approve")
    assert program() == "finished"


def test_a_slow_check_keeps_nobody_else_waiting(stage: Rehearsal) -> None:
    other_is_done, order = threading.Event(), list[str]()

    @stage.il.tool("reversible")
    def write(line: str) -> str:
        order.append(line)
        return line

    @stage.il.before
    def slow(call: Any) -> None:
        if call.arguments["line"] == "first":
            assert other_is_done.wait(30)

    def program(key: str, line: str) -> None:
        with stage.il.run(key):
            write(line)

    first = threading.Thread(target=program, args=("one", "first"))
    first.start()
    program("two", "second")
    other_is_done.set()
    first.join()
    assert order == ["second", "first"]


def test_a_check_that_answers_something_is_not_understood_and_holds(stage: Rehearsal) -> None:
    write, _ = writer(stage)

    @stage.il.before
    def yes(call: Any) -> bool:
        return True

    with stage.il.run("job") as run:
        write("a")
    assert run.status == "waiting"
    assert "returned bool, which says nothing" in stage.reviewer.open()[0].card.why


def test_a_check_cannot_let_anything_go_nor_change_what_runs(both: Rehearsal) -> None:
    sent: list[list[str]] = []

    @both.il.tool("irreversible")
    def send(to: list[str]) -> str:
        sent.append(to)
        return "sent"

    @both.il.before
    def meddle(call: Any) -> None:
        call.arguments["to"].append("mallory")
        call.arguments["to"] = ["mallory"]

    def program() -> None:
        with both.il.run("job"):
            send(["bob"])

    program()
    (view,) = both.reviewer.open()
    assert view.about.current.arguments == {"to": ["bob"]}
    both.reviewer.decide("approve")
    program()
    assert sent == [["bob"]]


def test_a_check_is_asked_again_before_an_approved_call_runs_and_may_still_refuse_it(both: Rehearsal) -> None:
    sent: list[str] = []
    blocked: set[str] = set()

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        sent.append(to)
        return to

    @both.il.before(tools=["send"])
    def not_blocked(call: Any) -> None:
        if call.arguments["to"] in blocked:
            call.deny("blocked by now")

    def program() -> str:
        with both.il.run("job") as run:
            try:
                send("bob")
            except Refused as refused:
                return refused.words
        return run.status

    assert program() == "waiting"
    both.reviewer.decide("approve")
    blocked.add("bob")
    assert "blocked by now" in program()
    assert sent == []


def test_what_a_check_holds_and_a_person_approved_runs(both: Rehearsal) -> None:
    write, written = writer(both)

    @both.il.before
    def always(call: Any) -> None:
        call.hold("look at this one")
        call.note("it is about line a")

    def program() -> str:
        with both.il.run("job") as run:
            write("a")
        return run.status

    assert program() == "waiting"
    (view,) = both.reviewer.open()
    assert view.about.facts["notes"] == [{"by": "always", "words": "it is about line a"}]
    both.reviewer.decide("approve")
    assert (program(), written) == ("finished", ["a"])


def test_reads_are_checked_too_and_stay_free_where_nobody_objects(both: Rehearsal) -> None:
    fetched: list[str] = []
    asked: list[str] = []

    @both.il.tool("read_only", reach="outward")
    def fetch(url: str) -> str:
        fetched.append(url)
        return f"<{url}>"

    @both.il.before
    def no_evil(call: Any) -> None:
        asked.append(call.arguments["url"])
        if "evil" in call.arguments["url"]:
            call.deny("that host is not ours")

    def program() -> list[str]:
        got: list[str] = []
        with both.il.run("job"):
            for url in ("good", "evil", "good"):
                try:
                    got.append(fetch(url))
                except Refused as refused:
                    got.append(refused.kind)
            assert both.il.question("go on?", bool)
        return got

    assert program() == ["<good>", "denied", "<good>"]
    assert [action.tool for action in both.actions("job")] == ["fetch", "question"]
    both.reviewer.decide(respond(True))
    assert program() == ["<good>", "denied", "<good>"]
    assert fetched == ["good", "good"]
    assert asked == ["good", "evil", "good"], "what is on record is not asked about again"


def test_an_asynchronous_check_does_not_hold_up_the_loop(stage: Rehearsal) -> None:
    ticks: list[int] = []

    @stage.il.tool("reversible")
    async def write(line: str) -> str:
        return line

    @stage.il.before
    async def remote(call: Any) -> None:
        await asyncio.sleep(0.05)
        call.hold("the service says look")

    @stage.il.workflow
    async def job() -> None:
        async def tick() -> None:
            while True:
                ticks.append(1)
                await asyncio.sleep(0.001)

        ticking = asyncio.ensure_future(tick())
        try:
            await write("a")
        finally:
            ticking.cancel()

    assert asyncio.run(job.start(key="job")).status == "waiting"
    assert "the service says look" in stage.reviewer.open()[0].card.why
    assert len(ticks) > 5


def test_a_check_calls_no_guarded_tool_and_decides_nothing(stage: Rehearsal) -> None:
    write, ran = writer(stage)

    @stage.il.before
    def writes(call: Any) -> None:
        write("from a check")

    with stage.il.run("job"):
        write("a")
    assert ran == []
    assert "in_check" in stage.reviewer.open()[0].card.why


def test_observers_are_told_what_came_of_each_call_and_cannot_spoil_it(
    both: Rehearsal, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[tuple[str, str, object]] = []

    @both.il.tool("read_only")
    def look(what: str) -> str:
        return what.upper()

    @both.il.tool("reversible", no_effect_on=(ValueError,))
    def write(line: str) -> str:
        if line == "bad":
            raise ValueError(line)
        return line

    @both.il.after
    def observe(call: Any, outcome: str, result: object) -> None:
        told.append((call.tool, outcome, result))
        raise RuntimeError("observer down")

    with both.il.run("job") as run:
        look("a")
        write("b")
        with pytest.raises(ValueError, match="bad"):
            write("bad")
    assert run.status == "finished"
    assert told == [("look", "done", "A"), ("write", "done", "b"), ("write", "failed", None)]
    assert "the check observe failed after look" in caplog.text
    with both.il.run("job"):
        look("a")
        write("b")
    assert len(told) == 3, "a result from the record is no call"


@pytest.mark.parametrize(
    "given",
    [
        {"fn": 5},
        {"fn": print, "tools": "send"},
        {"fn": print, "tools": [5]},
        {"fn": print, "within": "soon"},
        {"fn": print, "within": 0},
    ],
)
def test_a_check_that_makes_no_sense_is_refused_when_it_is_registered(stage: Rehearsal, given: Any) -> None:
    with pytest.raises(SettingsError):
        stage.il.before(**given)
    assert stage.il._interceptor.checks.before == []


def test_an_observer_is_a_plain_function(stage: Rehearsal) -> None:
    async def observe(call: Any, outcome: str, result: object) -> None: ...

    with pytest.raises(SettingsError, match="asynchronous"):
        stage.il.after(observe)


# ---------------------------------------------------------------------------------------------------- tickets


def test_a_ticket_bounds_tools_number_and_cost_and_says_which_bound(both: Rehearsal) -> None:
    ran: list[str] = []

    @both.il.tool("reversible", cost=40)
    def buy(what: str) -> str:
        ran.append(what)
        return what

    @both.il.tool("reversible")
    def note(what: str) -> str:
        ran.append(what)
        return what

    @both.il.tool("read_only")
    def look(what: str) -> str:
        ran.append(what)
        return what

    words: list[str] = []

    @both.il.workflow(ticket={"tools": ["buy", "note"], "actions": 4, "cost": 90})
    def job() -> None:
        for call in (lambda: look("x"), lambda: buy("a"), lambda: buy("b"), lambda: buy("c"), lambda: note("d"),
                     lambda: note("e"), lambda: note("f")):  # fmt: skip
            try:
                call()
            except Refused as refused:
                words.append(refused.words)

    run = job.start(key="job")
    assert (run.status, ran) == ("finished", ["a", "b", "d", "e"])
    assert words == [
        "the run's ticket does not cover look; it is for buy, note",
        "buy may cost 40, and the run's ticket has 10 of 90 left",
        "the run's ticket is for 4 actions, and they are used up",
    ]
    started = both.events("job")[0]
    assert started.body["ticket"] == {"tools": ["buy", "note"], "actions": 4, "cost": "90"}


def test_a_ticket_is_the_runs_from_its_start_and_outlives_restarts(both: Rehearsal) -> None:
    send, _ = sender(both)

    def program(ticket: Any) -> str:
        with both.il.run("job", ticket=ticket) as run:
            send("bob")
            with pytest.raises(Refused, match="used up"):
                send("li")
        return run.status

    assert program({"actions": 1}) == "waiting"
    both.reviewer.decide("approve")
    assert program({"actions": 99}) == "finished"


def test_an_approval_is_not_used_after_the_life_of_the_ticket(stage: Rehearsal) -> None:
    send, sent = sender(stage)

    def program() -> str:
        with stage.il.run("job", ticket={"life": "30m"}) as run:
            try:
                send("bob")
            except Refused as refused:
                return refused.words
        return run.status

    assert program() == "waiting"
    stage.clock.advance(timedelta(minutes=20))
    stage.reviewer.decide("approve")
    stage.clock.advance(timedelta(minutes=20))
    assert program() == "the run's ticket was good for 30 minutes and is over"
    assert sent == []


def test_many_threads_cannot_use_a_ticket_more_often_than_it_says(stage: Rehearsal) -> None:
    ran: list[int] = []

    @stage.il.tool("reversible")
    def write(number: int) -> int:
        ran.append(number)
        return number

    refused: list[int] = []
    with stage.il.run("job", ticket={"actions": 5}) as run:

        def call(number: int) -> None:
            try:
                write(number)
            except Refused:
                refused.append(number)

        threads = [threading.Thread(target=run.wrap(call), args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(ran), len(refused)) == (5, 15)


def test_people_can_be_asked_whatever_the_ticket(stage: Rehearsal) -> None:
    def program() -> str:
        with stage.il.run("job", ticket={"tools": [], "actions": 0}) as run:
            stage.il.question("What now?")
            stage.il.observed_pause("node", "and now?")
        return run.status

    assert program() == "waiting"
    stage.reviewer.decide(respond("go on"))
    assert program() == "waiting"
    stage.reviewer.decide("approve")
    assert program() == "finished"
    assert stage.reviewer.seen[-1].run.ticket.used == 0


@pytest.mark.parametrize(
    "ticket",
    [
        5, {"tool": ["a"]}, {"tools": "send"}, {"tools": [5]}, {"actions": -1}, {"actions": True}, {"cost": "lots"},
        {"cost": -1}, {"life": "soon"}, {"life": 0},
    ],
)  # fmt: skip
def test_a_ticket_that_makes_no_sense_is_refused_before_the_run(stage: Rehearsal, ticket: Any) -> None:
    with pytest.raises(SettingsError):
        stage.il.run("job", ticket=ticket)


# ---------------------------------------------------------------------------------------------------- attacks


def test_a_check_looks_at_what_will_run_when_a_person_has_changed_it(both: Rehearsal) -> None:
    paid: list[str] = []

    @both.il.tool("irreversible")
    def pay(iban: str) -> str:
        paid.append(iban)
        return iban

    @both.il.before
    def known(call: Any) -> None:
        if call.arguments["iban"] == "BAD":
            call.deny("bad iban")

    def program() -> str:
        with both.il.run("job") as run:
            try:
                pay("X")
            except Refused as refused:
                return refused.words
        return run.status

    program()
    both.reviewer.decide(modify(iban="BAD"))
    assert "bad iban" in program()
    assert paid == []


@pytest.mark.parametrize("how", ["holds", "raises", "is late"])
def test_a_check_that_holds_after_the_approval_holds_once_more(both: Rehearsal, how: str) -> None:
    paid: list[str] = []
    now: list[str] = []

    @both.il.tool("irreversible")
    def pay(to: str) -> str:
        paid.append(to)
        return to

    @both.il.before(within=0.2 if how == "is late" else None)
    def sanctions(call: Any) -> None:
        if now and how == "holds":
            call.hold("on the sanctions list")
        if now and how == "raises":
            raise LookupError("the list is down")
        if now:
            threading.Event().wait(2)

    def program() -> str:
        with both.il.run("job") as run:
            pay("bob")
        return run.status

    program()
    both.reviewer.decide("approve")
    now.append("listed")
    assert program() == "waiting"
    assert paid == []
    (view,) = both.reviewer.open()
    assert "sanctions" in view.card.why
    assert view.card.previous is not None
    both.reviewer.decide("approve")
    assert (program(), paid) == ("finished", ["bob"]), "people have seen it, and let it go"


def test_a_pause_of_a_guarded_call_shows_what_the_checks_say_of_the_call(stage: Rehearsal) -> None:
    @stage.il.tool("irreversible")
    def pay(to: str) -> str:
        return to

    @stage.il.before(tools=["pay"])
    def looks(call: Any) -> None:
        call.note("a new payee")
        if call.arguments["to"] == "mallory":
            call.deny("not to mallory")

    with stage.il.run("job"):
        stage.il.observed_pause("node", {"to": "bob"}, tool=pay)
    assert stage.reviewer.open()[0].about.facts["notes"] == [{"by": "looks", "words": "a new payee"}]
    with stage.il.run("other"):
        assert stage.il.observed_pause("node", {"to": "mallory"}, tool=pay)["decision"] == "reject"


def test_a_check_for_a_tool_that_nobody_guards_is_an_error_when_a_run_starts(stage: Rehearsal) -> None:
    stage.il.tool("reversible")(_wire)
    stage.il.before(tools=["_wirre"])(_look_at)
    with pytest.raises(SettingsError, match="Did you mean _wire"), stage.il.run("job"):
        pass


def _wire(to: str) -> str:
    return to


def _look_at(call: Any) -> None:
    return None


@pytest.mark.parametrize("fn", [lambda: None, lambda a, b: None])
def test_a_check_that_does_not_take_a_call_is_refused(stage: Rehearsal, fn: Any) -> None:
    with pytest.raises(SettingsError, match="does not take"):
        stage.il.before(fn)
    with pytest.raises(SettingsError, match="does not take"):
        stage.il.after(fn)


def test_free_and_held_reads_of_the_same_kind_are_told_apart(both: Rehearsal) -> None:
    read: list[str] = []
    seen: list[int] = []

    @both.il.tool("read_only")
    def fetch(url: str) -> str:
        read.append(url)
        return f"page {len(read)}"

    @both.il.before
    def second_one(call: Any) -> None:
        seen.append(1)
        if len(seen) == 2:
            call.hold("twice the same")

    def program() -> list[str]:
        got: list[str] = []
        with both.il.run("job"):
            got.append(fetch("u"))
            got.append(fetch(url="u"))
        return got

    assert program() == ["page 1"]
    both.reviewer.decide("approve")
    assert program() == ["page 1", "page 2"]


def test_what_checks_say_shows_no_sensitive_value(stage: Rehearsal) -> None:
    @stage.il.tool("irreversible", sensitive=["card"])
    def charge(card: str) -> str:
        return "charged"

    @stage.il.before
    def numbers(call: Any) -> None:
        call.note(f"it is {call.arguments['card']}")
        int(call.arguments["card"])

    with stage.il.run("job"):
        charge("SECRET4111")
    (view,) = stage.reviewer.open()
    assert "SECRET4111" not in view.card.why + str(view.about.facts)
    assert "[hidden]" in view.card.why


def test_an_observer_gets_a_copy_of_the_result(both: Rehearsal) -> None:
    @both.il.tool("reversible")
    def numbers() -> list[int]:
        return [1]

    @both.il.after
    def meddle(call: Any, outcome: str, result: Any) -> None:
        result.append(666)

    with both.il.run("job"):
        assert numbers() == [1]


def test_costs_add_up_exactly_whatever_the_thread_rounds_to(stage: Rehearsal) -> None:
    from decimal import localcontext

    ran: list[int] = []

    @stage.il.tool("reversible", cost="0.000001")
    def tick(number: int) -> int:
        ran.append(number)
        return number

    with localcontext() as context, stage.il.run("job", ticket={"cost": "1000000.000002"}):
        context.prec = 4
        for number in range(3):
            tick(number)
    run = stage.il.kernel.run("job")  # type: ignore[arg-type]
    assert run is not None
    assert run.ticket is not None
    assert str(run.ticket.spent) == "0.000003"


def test_a_composite_counts_once_however_often_it_is_entered(both: Rehearsal) -> None:
    send, _ = sender(both)

    @both.il.tool("reversible", composite=True)
    def team() -> list[str]:
        return [send("a"), send("b")]

    @both.il.workflow(ticket={"actions": 3})
    def job() -> list[str]:
        return team()

    job.start(key="job")
    for _ in range(2):
        both.reviewer.decide("approve")
        run = job.start(key="job")
    assert run.result == ["a", "b"]
    row = both.il.kernel.run("job")  # type: ignore[arg-type]
    assert row is not None
    assert row.ticket is not None
    assert row.ticket.used == 3


def test_steps_need_no_ticket_and_a_no_uses_none(both: Rehearsal) -> None:
    send, _ = sender(both)

    def program() -> list[str]:
        said: list[str] = []
        with both.il.run("job", ticket={"tools": ["send"], "actions": 1}):
            both.il.step(lambda: 5)
            for to in ("a", "b"):
                try:
                    said.append(send(to))
                except Refused as refused:
                    said.append(refused.kind)
        return said

    program()
    both.reviewer.decide("reject")
    program()
    both.reviewer.decide("approve")
    assert program() == ["rejected", "b"]
