"""One thread called twice at once in one process: the second call is refused, and nothing happens twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from tests.langgraph.agents import GO, THREAD, Ledger
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import Interlock
from interlock.domain.errors import RunError
from interlock.langgraph import InterlockMiddleware, register
from interlock.testing import scripted_reviewer


class State(TypedDict, total=False):
    done: Any


def second_while_first(first: Callable[[], Any], second: Callable[[], Any], inside: threading.Event) -> Any:
    """What the second call gets while the first one is in the middle of a tool; both are over then."""
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(first)
        under_way.add_done_callback(lambda _: inside.set())
        inside.wait()
        assert not under_way.done()
        try:
            return second()
        finally:
            release.set()
            under_way.result()


release = threading.Event()


@pytest.fixture(autouse=True)
def held_up() -> Any:
    release.clear()
    yield
    release.set()


@pytest.mark.parametrize("first", ["application", "worker"])
def test_a_second_call_of_a_registered_graph_finds_the_run_busy(first: str) -> None:
    il, inside, sent = Interlock("memory://"), threading.Event(), list[str]()
    reviewer = scripted_reviewer(il)

    @il.tool("irreversible")
    def ask(what: str) -> str:
        """Ask first."""
        return what

    @il.tool("reversible")
    def send(to: str) -> str:
        """Send."""
        sent.append(to)
        inside.set()
        release.wait(10)
        return to

    builder = StateGraph(State)
    builder.add_node("node", lambda _: {"done": [ask("go"), send("ana")]})
    builder.add_edge(START, "node")
    graph = register(il, builder.compile(checkpointer=InMemorySaver()), name="sender")
    graph.invoke({}, THREAD)
    reviewer.decide("approve")
    go_on: Any = (lambda: graph.invoke(None, THREAD)) if first == "application" else il.worker().run_until_idle
    with pytest.raises(RunError) as caught:
        second_while_first(go_on, lambda: graph.invoke(None, THREAD), inside)
    assert caught.value.code == "busy"
    assert sent == ["ana"]
    assert [str(run.state) for run in il.kernel.runs()] == ["finished"]
    assert graph.get_state(THREAD).values["done"] == ["go", "ana"]


@pytest.mark.parametrize("registered", [True, False])
def test_a_second_call_of_an_agent_asks_its_model_nothing_while_a_tool_of_the_first_runs(registered: bool) -> None:
    il, inside, ledger = Interlock("memory://"), threading.Event(), Ledger()
    reviewer = scripted_reviewer(il)
    model = ScriptedModel(lines=[calls(("pay", {"what": "a"})), calls(("note", {"what": "b"}), ids=["n"]), says("ok")])

    def slowly() -> None:
        inside.set()
        release.wait(10)

    agent = create_agent(
        model,
        [ledger.tool("pay", slowly), ledger.tool("note")],
        middleware=[InterlockMiddleware(il, name="clerk", tools={"pay": "irreversible", "note": "reversible"})],
        checkpointer=InMemorySaver(),
    )
    if registered:
        register(il, agent)
    agent.invoke(GO, THREAD)
    reviewer.decide("approve")
    with pytest.raises(RunError) as caught:
        second_while_first(lambda: agent.invoke(None, THREAD), lambda: agent.invoke(None, THREAD), inside)
    assert caught.value.code == "busy"
    assert ledger == ["pay a", "note b"]
    assert [str(run.state) for run in il.kernel.runs()] == ["finished"]
