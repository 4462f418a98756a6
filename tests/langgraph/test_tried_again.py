"""Nodes and tasks that LangGraph tries again by itself (`RetryPolicy`): what they did already, they do not do again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy
from tests.langgraph.agents import THREAD

from interlock import Diverged, Interlock
from interlock.langgraph import register
from interlock.testing import scripted_reviewer

AGAIN = RetryPolicy(initial_interval=0.001, max_attempts=5, retry_on=ConnectionError, jitter=False)
ASKED = [("record", "irreversible", 0), ("cautious", "reversible", 0), ("cautious", "irreversible", 1)]


class State(TypedDict, total=False):
    done: Any


class Line:
    """A line of code that fails the first times it is run."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> None:
        self.left -= 1
        if self.left >= 0:
            raise ConnectionError("not now")


def one_node(node: Callable[[State], State], **options: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", node, **options)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=InMemorySaver())


def retried_node(send: Any, line: Line) -> tuple[Any, Any]:
    def node(_: State) -> State:
        sent = send("ana")
        line()
        return {"done": sent}

    return one_node(node, retry_policy=AGAIN), {}


def retried_task(send: Any, line: Line) -> tuple[Any, Any]:
    @task(retry_policy=AGAIN)
    def work() -> str:
        sent = send("ana")
        line()
        return sent

    @entrypoint(checkpointer=InMemorySaver())
    def job(_: str) -> str:
        return work().result()

    return job, "go"


def retried_entrypoint(send: Any, line: Line) -> tuple[Any, Any]:
    @task
    def work() -> str:
        return send("ana")

    @entrypoint(checkpointer=InMemorySaver(), retry_policy=AGAIN)
    def job(_: str) -> str:
        sent = work().result()
        line()
        return sent

    return job, "go"


def retried_node_around_a_graph(send: Any, line: Line) -> tuple[Any, Any]:
    inner = StateGraph(State)
    inner.add_node("inner", lambda _: {"done": send("ana")})
    inner.add_edge(START, "inner")
    within = inner.compile()

    def node(_: State) -> State:
        answer = within.invoke({})
        line()
        return answer

    return one_node(node, retry_policy=AGAIN), {}


def retried_node_around_a_failing_graph(send: Any, line: Line) -> tuple[Any, Any]:
    def failing(_: State) -> State:
        sent = send("ana")
        line()
        return {"done": sent}

    inner = StateGraph(State)
    inner.add_node("inner", failing)
    inner.add_edge(START, "inner")
    within = inner.compile()
    return one_node(lambda _: within.invoke({}), retry_policy=AGAIN), {}


@pytest.mark.parametrize(("profile", "reversibility", "asked"), ASKED)
@pytest.mark.parametrize(
    "made",
    [
        retried_node,
        retried_task,
        retried_entrypoint,
        retried_node_around_a_graph,
        retried_node_around_a_failing_graph,
    ],
)
def test_what_is_tried_again_finds_what_it_has_done(made: Any, profile: str, reversibility: Any, asked: int) -> None:
    il, sent = Interlock("memory://", profile=profile), list[str]()
    reviewer = scripted_reviewer(il, {"*": "approve"})

    @il.tool(reversibility)
    def send(to: str) -> str:
        """Send."""
        sent.append(to)
        return to

    graph, given = made(send, Line(2))
    register(il, graph, name="sender")
    graph.invoke(given, THREAD)
    cards = 0
    while reviewer.open():
        cards += len(reviewer.decide_all())
        graph.invoke(None, THREAD)
    assert (sent, cards) == (["ana"], asked)
    assert [str(run.state) for run in il.kernel.runs()] == ["finished"]


def test_a_call_that_failed_is_another_attempt_when_its_node_is_tried_again() -> None:
    il, sent, line = Interlock("memory://", profile="record"), list[str](), Line(2)

    @il.tool("irreversible", no_effect_on=(ConnectionError,))
    def send(to: str) -> str:
        """Send."""
        line()
        sent.append(to)
        return to

    graph = register(il, one_node(lambda _: {"done": send("ana")}, retry_policy=AGAIN), name="sender")
    assert graph.invoke({}, THREAD) == {"done": "ana"}
    (run,) = il.kernel.runs()
    actions = il.kernel.store.read(lambda rows: rows.actions_of_run(run.id))
    assert [(str(each.state), each.attempt) for each in actions] == [("failed", 1), ("failed", 2), ("done", 3)]
    assert sent == ["ana"]


def test_a_failure_that_a_node_went_on_from_stays_when_it_is_tried_again() -> None:
    il, sent, line, first = Interlock("memory://", profile="record"), list[str](), Line(2), Line(1)

    @il.tool("irreversible", no_effect_on=(ConnectionError,))
    def fast(to: str) -> str:
        """Send fast."""
        first()
        sent.append(f"fast {to}")
        return to

    @il.tool("irreversible")
    def slow(to: str) -> str:
        """Send slowly."""
        sent.append(f"slow {to}")
        return to

    def node(_: State) -> State:
        try:
            done = fast("ana")
        except ConnectionError:
            done = slow("ana")
        line()
        return {"done": done}

    register(il, graph := one_node(node, retry_policy=AGAIN), name="sender").invoke({}, THREAD)
    assert sent == ["slow ana"]
    assert graph.get_state(THREAD).values == {"done": "ana"}


def test_a_node_that_does_something_else_when_tried_again_stops_as_diverged() -> None:
    il, sent, line = Interlock("memory://", profile="record"), list[str](), Line(2)

    @il.tool("reversible")
    def send(to: str) -> str:
        """Send."""
        sent.append(to)
        return to

    def node(_: State) -> State:
        send(f"ana {line.left}")
        line()
        return {}

    graph = register(il, one_node(node, retry_policy=AGAIN), name="sender")
    with pytest.raises(Diverged):
        graph.invoke({}, THREAD)
    assert sent == ["ana 2"]


def test_a_step_answers_as_before_when_its_node_is_tried_again() -> None:
    il, sent, line, thought = Interlock("memory://", profile="record"), list[str](), Line(2), list[int]()

    @il.tool("irreversible")
    def send(to: str) -> str:
        """Send."""
        sent.append(to)
        return to

    def think() -> int:
        thought.append(1)
        return len(thought)

    def node(_: State) -> State:
        send(f"ana {il.step(think)}")
        line()
        return {}

    register(il, graph := one_node(node, retry_policy=AGAIN), name="sender").invoke({}, THREAD)
    assert (sent, thought) == (["ana 1"], [1])
    assert not graph.get_state(THREAD).next


def test_a_call_that_was_cut_short_by_a_time_out_is_asked_about_once_when_its_node_is_tried_again() -> None:
    il, begun, ended = Interlock("memory://", profile="record"), list[str](), asyncio.Event()
    reviewer = scripted_reviewer(il)

    @il.tool("irreversible")
    async def send(to: str) -> str:
        """Send."""
        begun.append(to)
        await ended.wait()
        return to

    async def node(_: State) -> State:
        return {"done": await send("ana")}

    again = RetryPolicy(initial_interval=0.001, max_attempts=3, retry_on=Exception, jitter=False)
    graph = register(il, one_node(node, retry_policy=again, timeout=0.2), name="sender")
    asyncio.run(graph.ainvoke({}, THREAD))
    assert begun == ["ana"]
    assert [str(view.card.kind) for view in reviewer.open()] == ["reconcile"]
