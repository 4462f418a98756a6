"""Time-outs, cancellation and Ctrl-C: recorded first, then passed on as themselves; never a "did not happen"."""

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock import Interrupted
from interlock.testing import Rehearsal, found_done, found_failed, run_again


class Slow:
    """A tool's own doings: it writes down that it began, waits to be let go, and writes down that it ended."""

    def __init__(self) -> None:
        self.ledger: list[str] = []
        self.began = asyncio.Event()
        self.let_go = asyncio.Event()

    async def __call__(self, what: str) -> str:
        self.ledger.append(f"{what} began")
        self.began.set()
        await self.let_go.wait()
        self.ledger.append(f"{what} ended")
        return what


async def timed_out(slow: Slow, call: Coroutine[Any, Any, object]) -> None:
    """Do what `wait_for` does, once the tool has begun (or once it is clear that it does not)."""
    task = asyncio.create_task(call)
    began = asyncio.create_task(slow.began.wait())
    await asyncio.wait({task, began}, return_when=asyncio.FIRST_COMPLETED)
    began.cancel()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        raise TimeoutError from None


def test_a_time_out_that_cancels_an_executing_tool_leaves_it_in_doubt_and_closes_the_run(both: Rehearsal) -> None:
    after: list[str] = []

    @both.il.tool("reversible")
    async def log(line: str) -> str:
        after.append(line)
        return line

    async def program() -> list[str]:
        slow = Slow()

        @both.il.tool("compensable", interrupt_policy="none", name="pay")
        async def pay(what: str) -> str:
            return await slow(what)

        async with both.il.run("job"):
            try:
                await timed_out(slow, pay("rent"))
            except TimeoutError:
                await log("gave up")
        return slow.ledger

    assert asyncio.run(program()) == ["rent began"]
    assert both.states("job") == ["in_doubt"]
    assert after == [], "nothing goes on in that scope until somebody knows whether the rent was paid"
    assert both.il.kernel.run("job").state.value == "waiting"  # type: ignore[union-attr, arg-type]
    card = both.reviewer.open()[0]
    assert (card.card.kind.value, card.about.action.tool) == ("reconcile", "pay")


def test_a_retry_around_a_timed_out_tool_does_not_run_it_again(stage: Rehearsal) -> None:
    async def program() -> list[str]:
        slow = Slow()

        @stage.il.tool("irreversible", name="pay")
        async def pay(what: str) -> str:
            return await slow(what)

        async def job() -> None:
            async with stage.il.run("job"):
                for _ in range(3):
                    with suppress(TimeoutError):
                        await timed_out(slow, pay("rent"))

        await job()
        stage.reviewer.decide("approve")
        await job()
        await job()
        return slow.ledger

    assert asyncio.run(program()) == ["rent began"]
    assert stage.states("job") == ["in_doubt"]


def test_a_time_out_around_a_held_call_pauses_the_run_instead_of_going_on_without_it(both: Rehearsal) -> None:
    sent: list[str] = []
    after: list[str] = []

    @both.il.tool("irreversible")
    async def send(to: str) -> str:
        sent.append(to)
        return to

    @both.il.tool("reversible")
    async def log(line: str) -> str:
        after.append(line)
        return line

    async def program(patience: float) -> None:
        async with both.il.run("job", wait=30):
            try:
                await asyncio.wait_for(send("bob"), patience)
            except TimeoutError:
                await log("nobody answered")

    asyncio.run(program(0.05))
    assert (sent, after, both.states("job")) == ([], [], ["held"])
    both.reviewer.decide("approve")
    asyncio.run(program(600))
    assert (sent, after, both.states("job")) == (["bob"], [], ["done"])


def test_cancellation_while_the_gate_is_being_asked_never_leaves_a_claim_behind(both: Rehearsal) -> None:
    paid: list[str] = []

    @both.il.tool("compensable", interrupt_policy="none")
    async def pay(what: str) -> str:
        paid.append(what)
        return what

    async def program() -> None:
        async with both.il.run("job"):
            task = asyncio.create_task(pay("rent"))
            await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(program())
    states = both.states("job")
    # Given back: the action is cleared as before, and the next pass takes it up.
    assert states in ([], ["cleared"], ["done"], ["in_doubt"])
    assert len(paid) == (1 if states in (["done"], ["in_doubt"]) else 0)
    assert both.il.kernel.run("job").process is None  # type: ignore[union-attr, arg-type]


def test_cancellation_while_the_proposal_is_under_way_pauses_the_run_where_it_was_held(both: Rehearsal) -> None:
    after: list[str] = []

    @both.il.tool("irreversible")
    async def send(to: str) -> str:
        raise AssertionError(to)

    @both.il.tool("reversible")
    async def log(line: str) -> str:
        after.append(line)
        return line

    async def program() -> None:
        async with both.il.run("job"):
            task = asyncio.create_task(send("bob"))
            await asyncio.sleep(0)
            task.cancel()
            with suppress(BaseException):
                await task
            await log("cancelled it")

    asyncio.run(program())
    run = both.il.kernel.run("job")  # type: ignore[arg-type]
    assert run is not None
    held = "held" in both.states("job")
    assert (run.state.value, after) == (("waiting", []) if held else ("finished", ["cancelled it"]))


def test_a_sibling_that_executes_is_not_torn_apart_by_a_pause(both: Rehearsal) -> None:
    async def program() -> list[str]:
        slow = Slow()

        @both.il.tool("compensable", interrupt_policy="none", name="pay")
        async def pay(what: str) -> str:
            return await slow(what)

        @both.il.tool("irreversible")
        async def send(to: str) -> str:
            raise AssertionError(to)

        async def held() -> None:
            await slow.began.wait()
            asyncio.get_running_loop().call_later(0.02, slow.let_go.set)
            await send("bob")

        async with both.il.run("job"), asyncio.TaskGroup() as group:
            group.create_task(pay("rent"))
            group.create_task(held())
        return slow.ledger

    assert asyncio.run(program()) == ["rent began", "rent ended"]
    assert sorted(both.states("job")) == ["done", "held"]
    assert both.il.kernel.run("job").state.value == "waiting"  # type: ignore[union-attr, arg-type]


def test_gather_without_return_exceptions_drains_the_siblings_before_the_pass_ends(both: Rehearsal) -> None:
    async def program() -> list[str]:
        slow = Slow()

        @both.il.tool("compensable", interrupt_policy="none", name="pay")
        async def pay(what: str) -> str:
            return await slow(what)

        @both.il.tool("irreversible")
        async def send(to: str) -> str:
            raise AssertionError(to)

        async def held() -> None:
            await slow.began.wait()
            asyncio.get_running_loop().call_later(0.02, slow.let_go.set)
            await send("bob")

        async with both.il.run("job"):
            await asyncio.gather(pay("rent"), held())
        return slow.ledger

    assert asyncio.run(program()) == ["rent began", "rent ended"]
    assert sorted(both.states("job")) == ["done", "held"]


def test_cancelling_the_whole_run_leaves_it_waiting_and_not_driven(both: Rehearsal) -> None:
    async def program() -> list[str]:
        slow = Slow()

        @both.il.tool("compensable", interrupt_policy="none", name="pay")
        async def pay(what: str) -> str:
            return await slow(what)

        async def job() -> None:
            async with both.il.run("job"):
                await pay("rent")

        task = asyncio.create_task(job())
        await slow.began.wait()
        task.cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return slow.ledger

    assert asyncio.run(program()) == ["rent began"]
    run = both.il.kernel.run("job")  # type: ignore[arg-type]
    assert run is not None
    assert (run.state.value, run.process, both.states("job")) == ("waiting", None, ["in_doubt"])


def test_a_tool_that_shields_its_effect_from_cancellation_is_done(stage: Rehearsal) -> None:
    paid: list[str] = []

    async def program() -> None:
        slow = Slow()

        @stage.il.tool("compensable", interrupt_policy="none")
        async def pay(what: str) -> str:
            try:
                await slow(what)
            except asyncio.CancelledError:
                paid.append(what)
            return what

        async with stage.il.run("job"):
            await timed_out(slow, pay("rent"))

    with suppress(TimeoutError):
        asyncio.run(program())
    assert (paid, stage.states("job")) == (["rent"], ["done"])


def pressed() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("leave", [pressed, lambda: sys.exit(3)], ids=["ctrl_c", "sys_exit"])
def test_leaving_in_the_middle_of_a_tool_is_recorded_and_goes_on_as_itself(
    both: Rehearsal, leave: Callable[[], None]
) -> None:
    paid: list[str] = []

    @both.il.tool("compensable", interrupt_policy="none")
    def pay(what: str) -> str:
        paid.append(what)
        leave()
        return what

    @both.il.workflow
    def agent() -> str:
        return pay("rent")

    with pytest.raises((KeyboardInterrupt, SystemExit)):
        agent.start(key="job")
    assert (paid, both.states("job")) == (["rent"], ["in_doubt"])
    both.reviewer.decide(found_done("paid by hand"))
    assert agent.start(key="job").result == "paid by hand"
    assert paid == ["rent"]


def test_ctrl_c_while_the_caller_waits_for_a_person_pauses_the_run(stage: Rehearsal) -> None:
    sent: list[str] = []

    @stage.il.tool("irreversible")
    def send(to: str) -> str:
        sent.append(to)
        return to

    @stage.il.workflow
    def agent() -> str:
        return send("bob")

    waited = threading.Event()
    wait_for_change = stage.il.kernel.store.wait_for_change

    def interrupted(timeout: float) -> bool:
        waited.set()
        raise KeyboardInterrupt

    stage.il.kernel.store.wait_for_change = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        agent.start(key="job", wait=timedelta(minutes=5))
    stage.il.kernel.store.wait_for_change = wait_for_change  # type: ignore[method-assign]
    assert waited.is_set()
    assert (sent, stage.states("job")) == ([], ["held"])
    stage.reviewer.decide("approve")
    assert agent.start(key="job").result == "bob"


def test_in_doubt_after_ctrl_c_can_be_found_failed_or_run_again(stage: Rehearsal) -> None:
    paid: list[str] = []

    @stage.il.tool("compensable", interrupt_policy="none")
    def pay(what: str) -> str:
        paid.append(what)
        if len(paid) == 1:
            raise KeyboardInterrupt
        return what

    for key, said, ledger in (
        ("again", run_again(), ["rent", "rent"]),
        ("failed", found_failed("no money left"), ["rent"]),
    ):
        paid.clear()
        with pytest.raises(KeyboardInterrupt), stage.il.run(key):
            pay("rent")
        stage.reviewer.decide(said)
        with suppress(Exception), stage.il.run(key):
            pay("rent")
        assert paid == ledger


def test_a_real_ctrl_c_leaves_the_tool_in_doubt(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from interlock import Interlock

        il = Interlock(f"sqlite:///{sys.argv[1]}/interlock.db", profile="record")

        @il.tool("irreversible")
        def pay(what: str) -> str:
            Path(sys.argv[1], "ledger").write_text(what)
            time.sleep(60)
            return what

        @il.workflow
        def agent() -> str:
            return pay("rent")

        agent.start(key="job")
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stderr=subprocess.PIPE)
    until = time.monotonic() + 30
    while not (tmp_path / "ledger").exists():
        assert time.monotonic() < until
        assert child.poll() is None, child.stderr and child.stderr.read()
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    assert child.stderr is not None
    error = child.stderr.read()
    child.stderr.close()
    assert child.wait(30) != 0
    assert b"KeyboardInterrupt" in error
    with Rehearsal(tmp_path) as after:
        assert after.states("job") == ["in_doubt"]
        assert after.il.kernel.run("job").state.value == "waiting"  # type: ignore[union-attr, arg-type]
        assert [card.card.kind.value for card in after.reviewer.open()] == ["reconcile"]
    assert (tmp_path / "ledger").read_text(encoding="utf-8") == "rent"


def test_the_live_caller_of_a_doubt_gets_the_pause_with_the_error_behind_it(stage: Rehearsal) -> None:
    @stage.il.tool("compensable", interrupt_policy="none")
    def pay(what: str) -> str:
        raise TimeoutError("no answer from the bank")

    seen: list[BaseException] = []
    with stage.il.run("job"):
        try:
            pay("rent")
        except BaseException as error:
            seen.append(error)
            raise
    assert isinstance(seen[0], Interrupted)
    assert isinstance(seen[0].__cause__, TimeoutError)
