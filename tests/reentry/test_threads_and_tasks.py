"""Concurrent branches: threads that are wrapped, tasks, and what they share."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from interlock import Interrupted
from interlock.domain.errors import CallError
from interlock.testing import Rehearsal


class Post:
    """Tools for branches, with one ledger."""

    def __init__(self, stage: Rehearsal) -> None:
        self.ledger: list[str] = []
        il = stage.il

        @il.tool("irreversible")
        def send(to: str) -> str:
            self.ledger.append(f"sent {to}")
            return to

        @il.tool("reversible")
        def log(line: str) -> str:
            self.ledger.append(f"logged {line}")
            return line

        @il.tool("irreversible")
        async def send_later(to: str) -> str:
            self.ledger.append(f"sent {to}")
            return to

        @il.tool("reversible")
        async def log_later(line: str) -> str:
            await asyncio.sleep(0)
            self.ledger.append(f"logged {line}")
            return line

        self.send: Callable[[str], str] = send
        self.log: Callable[[str], str] = log
        self.send_later = send_later
        self.log_later = log_later


PEOPLE = ["ann", "bob", "eve", "bob"]


def test_a_pool_of_wrapped_calls_holds_each_of_them_and_finds_each_again(both: Rehearsal) -> None:
    post = Post(both)

    def program() -> list[str]:
        with both.il.run("job") as run, ThreadPoolExecutor(2) as pool:
            answers = [pool.submit(task, each) for task in [run.wrap(post.send)] for each in PEOPLE]
            with suppress(Interrupted):
                return [answer.result() for answer in answers]
        return []

    program()
    assert len(both.reviewer.open()) == 4
    both.reviewer.script["send"] = "approve"
    both.reviewer.decide_all()
    assert program() == PEOPLE
    assert sorted(post.ledger) == ["sent ann", "sent bob", "sent bob", "sent eve"]
    assert both.il.kernel.run("job").state.value == "finished"  # type: ignore[union-attr, arg-type]


def test_map_with_a_wrapped_function_gives_results_in_order(both: Rehearsal) -> None:
    post = Post(both)
    for _ in range(2):
        with both.il.run("job") as run, ThreadPoolExecutor(4) as pool:
            assert list(pool.map(run.wrap(post.log), PEOPLE)) == PEOPLE
            with suppress(Interrupted):
                post.send("bob")
    assert len(post.ledger) == 4


def test_a_branch_of_several_calls_keeps_them_in_order(both: Rehearsal) -> None:
    post = Post(both)

    def letter(to: str) -> str:
        post.log(f"writing to {to}")
        post.send(to)
        return post.log(f"wrote to {to}")

    def program() -> None:
        with both.il.run("job") as run, ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(run.wrap(letter), each) for each in ("ann", "bob")]
            for future in futures:
                with suppress(Interrupted):
                    future.result()

    program()
    both.reviewer.script["send"] = lambda card: "approve" if "ann" in str(card.about.current.arguments) else None
    both.reviewer.decide_all()
    program()
    assert sorted(post.ledger) == ["logged writing to ann", "logged writing to bob", "logged wrote to ann", "sent ann"]


def test_a_thread_that_is_not_wrapped_runs_nothing(both: Rehearsal) -> None:
    post = Post(both)
    with both.il.run("job"), ThreadPoolExecutor(1) as pool:
        for tool in (post.log, post.send):
            with pytest.raises(CallError, match="outside any run"):
                pool.submit(tool, "bob").result()
    assert (post.ledger, both.states("job")) == ([], [])


def test_an_executor_of_a_loop_that_does_not_carry_the_context_runs_nothing(stage: Rehearsal) -> None:
    post = Post(stage)

    async def program() -> None:
        async with stage.il.run("job"):
            with pytest.raises(CallError, match="outside any run"):
                await asyncio.get_running_loop().run_in_executor(None, post.log, "bob")

    asyncio.run(program())
    assert post.ledger == []


def test_to_thread_carries_the_run(both: Rehearsal) -> None:
    post = Post(both)

    @both.il.workflow
    async def agent() -> list[str]:
        logged = await asyncio.gather(*(asyncio.to_thread(post.log, each) for each in PEOPLE))
        return [*logged, await asyncio.to_thread(post.send, "bob")]

    async def program() -> str:
        return (await agent.start(key="job")).status

    assert asyncio.run(program()) == "waiting"
    both.reviewer.decide("approve")
    assert asyncio.run(program()) == "finished"
    assert sorted(post.ledger) == sorted([f"logged {each}" for each in PEOPLE] + ["sent bob"])


@pytest.mark.parametrize("how", ["gather", "task_group", "tasks_one_by_one"])
def test_tasks_of_an_asynchronous_run_are_found_again(both: Rehearsal, how: str) -> None:
    post = Post(both)

    @both.il.workflow
    async def agent() -> list[str]:
        if how == "gather":
            return list(await asyncio.gather(*(post.send_later(each) for each in PEOPLE)))
        if how == "task_group":
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(post.send_later(each)) for each in PEOPLE]
            return [task.result() for task in tasks]
        tasks = [asyncio.create_task(post.send_later(each)) for each in PEOPLE]
        await asyncio.wait(tasks)
        return [task.result() for task in tasks]

    async def program() -> None:
        await agent.start(key="job")

    both.reviewer.script["send_later"] = "approve"
    for _ in range(9):
        asyncio.run(program())
        both.reviewer.decide_all()
    assert agent.handle("job").result == PEOPLE  # type: ignore[arg-type]
    assert sorted(post.ledger) == ["sent ann", "sent bob", "sent bob", "sent eve"]


def test_asyncio_run_inside_a_synchronous_workflow_keeps_its_branches(both: Rehearsal) -> None:
    post = Post(both)

    @both.il.workflow
    def agent() -> list[str]:
        async def main(people: list[str]) -> list[str]:
            logged = await asyncio.gather(*(post.log_later(each) for each in people))
            return [*logged, *await asyncio.gather(*(post.send_later(each) for each in people))]

        return [*asyncio.run(main(["ann", "bob"])), *asyncio.run(main(["bob"]))]

    both.reviewer.script["send_later"] = "approve"
    for _ in range(4):
        agent.start(key="job")
        both.reviewer.decide_all()
    assert agent.handle("job").result == ["ann", "bob", "ann", "bob", "bob", "bob"]  # type: ignore[arg-type]
    assert sorted(post.ledger) == sorted(["logged ann", "logged bob", "logged bob", "sent ann", "sent bob", "sent bob"])


def test_a_pause_in_a_task_of_asyncio_run_closes_what_made_it(both: Rehearsal) -> None:
    post = Post(both)

    @both.il.workflow
    def agent() -> None:
        async def main() -> None:
            task = asyncio.create_task(post.send_later("bob"))
            with suppress(BaseException):
                await task
            await post.log_later("after")

        with suppress(BaseException):
            asyncio.run(main())
        with suppress(BaseException):
            post.log("outside")

    assert agent.start(key="job").status == "waiting"
    assert post.ledger == []


def test_tasks_outside_any_run_are_left_alone(stage: Rehearsal) -> None:
    post = Post(stage)
    made: list[str] = []

    async def foreign() -> None:
        task = asyncio.create_task(asyncio.sleep(0), name="mine")
        made.append(task.get_name())
        await task
        with pytest.raises(CallError, match="outside any run"):
            await post.log_later("no")

    async def program() -> None:
        loop = asyncio.get_running_loop()
        factory = loop.get_task_factory()

        async def ours(key: str) -> None:
            async with stage.il.run(key):
                await asyncio.gather(post.log_later(key), post.log_later(key + "!"))

        await asyncio.gather(foreign(), ours("a"), ours("b"), foreign())
        assert loop.get_task_factory() is factory

    asyncio.run(program())
    assert sorted(post.ledger) == ["logged a", "logged a!", "logged b", "logged b!"]
    assert made == ["mine", "mine"]


def test_two_asynchronous_runs_in_one_loop_do_not_mix(both: Rehearsal) -> None:
    post = Post(both)

    @both.il.workflow
    async def agent(who: str) -> str:
        await post.log_later(who)
        return await post.send_later(who)

    async def program() -> list[str]:
        runs = await asyncio.gather(*(agent.start(who, key=who) for who in ("ann", "bob")))
        return [run.status for run in runs]

    assert asyncio.run(program()) == ["waiting", "waiting"]
    both.reviewer.script["send_later"] = "approve"
    both.reviewer.decide_all()
    assert asyncio.run(program()) == ["finished", "finished"]
    assert sorted(post.ledger) == ["logged ann", "logged bob", "sent ann", "sent bob"]


def test_named_blocks_are_matched_by_name_whatever_their_order(both: Rehearsal) -> None:
    post = Post(both)

    def program(order: list[str]) -> None:
        with both.il.run("job"):
            for each in order:
                with both.il.scope(each):
                    post.log(each)
            post.send("bob")

    program(["a", "b", "c"])
    program(["c", "a", "b"])
    assert sorted(post.ledger) == ["logged a", "logged b", "logged c"]


def test_the_end_of_a_pass_waits_for_a_call_that_is_under_way_in_a_thread(both: Rehearsal) -> None:
    began, let_go = threading.Event(), threading.Event()
    ledger: list[str] = []

    @both.il.tool("compensable", interrupt_policy="none")
    def pay(what: str) -> str:
        ledger.append("began")
        began.set()
        let_go.wait(10)
        ledger.append("ended")
        return what

    with both.il.run("job") as run:
        thread = threading.Thread(target=run.wrap(pay), args=("rent",))
        thread.start()
        began.wait(10)
        threading.Timer(0.05, let_go.set).start()
    assert ledger == ["began", "ended"]
    thread.join()
    assert (run.status, both.states("job")) == ("finished", ["done"])


def test_a_synchronous_run_in_a_loop_does_not_wait_for_the_loop_it_blocks(stage: Rehearsal) -> None:
    ledger: list[str] = []

    @stage.il.tool("compensable", interrupt_policy="none")
    async def pay(what: str) -> str:
        ledger.append(what)
        await asyncio.sleep(0.01)
        return what

    async def program() -> None:
        with stage.il.run("job"):
            task = asyncio.create_task(pay("rent"))
            while not ledger:  # noqa: ASYNC110
                await asyncio.sleep(0)
        with suppress(BaseException):
            await task

    asyncio.run(program())
    run = stage.il.kernel.run("job")  # type: ignore[arg-type]
    assert run is not None
    assert (ledger, run.process, run.state.value) == (["rent"], None, "needs_attention")
    assert stage.states("job") == ["done"], "its late word settled the doubt"
