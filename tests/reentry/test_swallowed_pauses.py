"""Whatever swallows a pause: one card, no effect, nothing later in that scope, and the run waits."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import tenacity

from interlock import Interrupted
from interlock.testing import Rehearsal

Program = Callable[[Callable[[str], str], Callable[[str], str]], Any]


def except_exception(send: Callable[[str], str], log: Callable[[str], str]) -> None:
    try:
        send("bob")
    except Exception:  # noqa: BLE001 - what the agents of this world do
        log("failed")
    log("after")


def bare_except(send: Callable[[str], str], log: Callable[[str], str]) -> None:
    try:
        send("bob")
    except:  # noqa: E722
        log("failed")
    log("after")


def except_base_exception(send: Callable[[str], str], log: Callable[[str], str]) -> None:
    try:  # noqa: SIM105 - as people write it
        send("bob")
    except BaseException:  # noqa: BLE001
        pass
    log("after")


def suppress(send: Callable[[str], str], log: Callable[[str], str]) -> None:
    with contextlib.suppress(BaseException):
        send("bob")
    with contextlib.suppress(BaseException):
        log("after")


def turned_into_an_error(send: Callable[[str], str], log: Callable[[str], str]) -> None:
    try:
        send("bob")
    except BaseException as error:
        raise RuntimeError("tool failed") from error


def finally_returns(send: Callable[[str], str], log: Callable[[str], str]) -> str:
    try:
        return send("bob")
    finally:
        with contextlib.suppress(BaseException):
            log("cleaning up")
        return "all is well"  # noqa: B012, SIM107


def tenacity_three_times(send: Callable[[str], str], log: Callable[[str], str]) -> None:
    tenacity.Retrying(stop=tenacity.stop_after_attempt(3))(send, "bob")
    log("after")


def tenacity_whatever_comes(send: Callable[[str], str], log: Callable[[str], str]) -> None:
    always = tenacity.retry_if_exception(lambda _: True)
    tenacity.Retrying(stop=tenacity.stop_after_attempt(3), retry=always)(send, "bob")
    log("after")


def asked_again_and_again(send: Callable[[str], str], log: Callable[[str], str]) -> None:
    for _ in range(3):
        try:
            send("bob")
        except BaseException:  # noqa: BLE001
            continue
    log("after")


def gathered(send: Callable[[str], str], log: Callable[[str], str]) -> None:
    async def one() -> str:
        return send("bob")

    async def all_of_them() -> None:
        await asyncio.gather(one(), return_exceptions=True)
        log("after")

    asyncio.run(all_of_them())


PROGRAMS = [
    except_exception,
    bare_except,
    except_base_exception,
    suppress,
    turned_into_an_error,
    finally_returns,
    tenacity_three_times,
    tenacity_whatever_comes,
    asked_again_and_again,
    gathered,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_swallowed_pause_opens_nothing(both: Rehearsal, program: Program) -> None:
    sent: list[str] = []
    logged: list[str] = []

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        sent.append(to)
        return "sent"

    @both.il.tool("reversible")
    def log(line: str) -> str:
        logged.append(line)
        return "logged"

    @both.il.workflow
    def agent() -> None:
        program(send, log)

    run = agent.start(key="job")
    assert (sent, logged) == ([], [])
    assert len(both.reviewer.open()) == 1
    assert run.status == "waiting"

    with both.il.run("by hand") as by_hand:
        program(send, log)
    assert (sent, logged) == ([], [])
    assert by_hand.status == "waiting"
    assert both.states("by hand") == ["held"]

    both.reviewer.script["send"] = "approve"
    both.reviewer.decide_all()
    assert both.il.worker().run_until_idle() == 1
    assert sent == ["bob"]


def test_a_read_only_call_after_a_swallowed_pause_does_not_run_either(stage: Rehearsal) -> None:
    looked: list[str] = []

    @stage.il.tool("irreversible")
    def send(to: str) -> str:
        raise AssertionError(to)

    @stage.il.tool("read_only")
    def look(at: str) -> str:
        looked.append(at)
        return at

    with stage.il.run("job") as run:
        with contextlib.suppress(BaseException):
            send("bob")
        with contextlib.suppress(BaseException):
            look("the weather")
        with contextlib.suppress(BaseException):
            stage.il.step(looked.append, "a step")
    assert (looked, run.status) == ([], "waiting")


def test_a_block_or_branch_that_is_opened_after_a_swallowed_pause_is_closed_too(stage: Rehearsal) -> None:
    logged: list[str] = []

    @stage.il.tool("irreversible")
    def send(to: str) -> str:
        raise AssertionError(to)

    @stage.il.tool("reversible")
    def log(line: str) -> str:
        logged.append(line)
        return line

    with stage.il.run("job") as run:
        with contextlib.suppress(BaseException):
            send("bob")
        with contextlib.suppress(BaseException), stage.il.scope("later"):
            log("in a block")
        with contextlib.suppress(BaseException):
            run.wrap(log)("in a branch")
    assert (logged, run.status) == ([], "waiting")


def test_a_task_that_is_made_after_a_swallowed_pause_is_closed_too(stage: Rehearsal) -> None:
    logged: list[str] = []

    @stage.il.tool("irreversible")
    async def send(to: str) -> str:
        raise AssertionError(to)

    @stage.il.tool("reversible")
    async def log(line: str) -> str:
        logged.append(line)
        return line

    async def program() -> str:
        async with stage.il.run("job") as run:
            await asyncio.gather(send("bob"), return_exceptions=True)
            await asyncio.gather(log("later"), return_exceptions=True)
        return run.status

    assert (asyncio.run(program()), logged) == ("waiting", [])


def test_concurrent_siblings_of_a_pause_go_on(stage: Rehearsal) -> None:
    logged: list[str] = []

    @stage.il.tool("irreversible")
    async def send(to: str) -> str:
        raise AssertionError(to)

    @stage.il.tool("reversible")
    async def log(line: str) -> str:
        logged.append(line)
        return line

    async def program() -> list[object]:
        async with stage.il.run("job"):
            return await asyncio.gather(send("bob"), log("a"), send("eve"), log("b"), return_exceptions=True)
        raise AssertionError

    answers = asyncio.run(program())
    assert [type(answer) for answer in answers] == [Interrupted, str, Interrupted, str]
    assert sorted(logged) == ["a", "b"]
    assert len(stage.reviewer.open()) == 2


def test_a_composite_that_swallows_the_pause_of_a_child_is_not_done(both: Rehearsal) -> None:
    sent: list[str] = []

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        sent.append(to)
        return "sent to " + to

    @both.il.tool("reversible", composite=True)
    def campaign(to: str) -> str:
        try:
            return send(to)
        except BaseException:  # noqa: BLE001
            return "nothing sent"

    with both.il.run("job") as run:
        campaign("bob")
    assert (sent, run.status, sorted(both.states("job"))) == ([], "waiting", ["executing", "held"])
    both.reviewer.decide("approve")
    with both.il.run("job") as run:
        assert campaign("bob") == "sent to bob"
    assert (sent, run.status) == (["bob"], "finished")


def test_a_divergence_that_is_swallowed_still_stops_the_run(stage: Rehearsal) -> None:
    logged: list[str] = []
    line = "first"

    @stage.il.tool("reversible")
    def log(line: str) -> str:
        logged.append(line)
        return line

    @stage.il.tool("irreversible")
    def send(to: str) -> str:
        return to

    @stage.il.workflow
    def agent() -> str:
        for each in (line, "second"):
            with contextlib.suppress(Exception):
                log(each)
        return send("bob")

    run = agent.start(key="job")
    assert run.status == "waiting"
    line = "other"
    assert agent.start(key="job").status == "diverged"
    assert logged == ["first", "second"]
