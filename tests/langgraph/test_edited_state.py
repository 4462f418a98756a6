"""A state that is edited (`update_state`) while a node waits: what the node has done is not done again."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send
from tests.langgraph.agents import THREAD

from interlock import Interlock
from interlock.domain.errors import Diverged
from interlock.langgraph import register
from interlock.testing import scripted_reviewer


class State(TypedDict, total=False):
    note: str
    done: Any


class Setting:
    """An agent's two tools, what they did, and who decides."""

    def __init__(self, first: Any = "reversible") -> None:
        self.il = Interlock("memory://")
        self.reviewer = scripted_reviewer(self.il)
        self.did: list[str] = []

        @self.il.tool(first, name="first")
        def one(to: str) -> str:
            """Do it first."""
            self.did.append(f"first {to}")
            return to

        @self.il.tool("irreversible", name="second")
        def two(to: str) -> str:
            """Do it second."""
            self.did.append(f"second {to}")
            return to

        self.first, self.second = one, two

    def cards(self) -> list[str]:
        return [view.about.action.tool for view in self.reviewer.open()]

    def runs(self) -> list[str]:
        return [str(run.state) for run in self.il.kernel.runs()]

    def graph(self, node: Any, prepare: Any = lambda _: {"note": "n"}, send: Any = None) -> Any:
        builder: Any = StateGraph(State)
        builder.add_node("prepare", prepare)
        builder.add_node("node", node)
        builder.add_edge(START, "prepare")
        if send is None:
            builder.add_edge("prepare", "node")
        else:
            builder.add_conditional_edges("prepare", send, ["node"])
        return register(self.il, builder.compile(checkpointer=InMemorySaver()), name="worker")


@pytest.mark.parametrize("first", ["reversible", "irreversible"])
@pytest.mark.parametrize("edits", [1, 2])
def test_an_edit_of_the_state_while_a_node_waits_repeats_nothing(first: str, edits: int) -> None:
    at = Setting(first)
    graph = at.graph(lambda _: {"done": [at.first("ana"), at.second("bob")]})
    graph.invoke({}, THREAD)
    if first == "irreversible":
        at.reviewer.decide("approve")
        graph.invoke(None, THREAD)
    for number in range(edits):
        graph.update_state(THREAD, {"note": f"edited {number}"})
        graph.invoke(None, THREAD)
        assert (at.did, at.cards()) == (["first ana"], ["second"])
    at.reviewer.decide("approve")
    graph.invoke(None, THREAD)
    assert (at.did, at.cards(), at.runs()) == (["first ana", "second bob"], [], ["finished"])
    assert graph.get_state(THREAD).values == {"note": f"edited {edits - 1}", "done": ["ana", "bob"]}


def test_an_approval_that_came_before_the_edit_is_taken_up_after_it() -> None:
    at = Setting()
    graph = at.graph(lambda _: {"done": [at.first("ana"), at.second("bob")]})
    graph.invoke({}, THREAD)
    at.reviewer.decide("approve")
    graph.update_state(THREAD, {"note": "edited"})
    at.il.worker().run_until_idle()
    assert (at.did, at.runs()) == (["first ana", "second bob"], ["finished"])


def test_an_edit_that_has_a_node_do_something_else_stops_the_run_as_diverged() -> None:
    at = Setting()
    graph = at.graph(lambda state: {"done": [at.first(state["note"]), at.second("bob")]})
    graph.invoke({}, THREAD)
    graph.update_state(THREAD, {"note": "edited"})
    with pytest.raises(Diverged):
        graph.invoke(None, THREAD)
    assert (at.did, at.runs()) == (["first n"], ["diverged"])


def test_an_edit_while_several_tasks_of_one_node_wait_repeats_nothing() -> None:
    at = Setting()

    def each(state: State) -> State:
        at.first(state["note"])
        at.second(state["note"])
        return {}

    graph = at.graph(each, send=lambda _: [Send("node", {"note": who}) for who in ("ana", "bob")])
    graph.invoke({}, THREAD)
    graph.update_state(THREAD, {"note": "edited"})
    graph.invoke(None, THREAD)
    assert sorted(at.did) == ["first ana", "first bob"]
    assert at.cards() == ["second", "second"]


def test_an_edit_around_a_graph_that_waits_inside_stops_the_run_rather_than_repeat_what_it_did() -> None:
    at = Setting()
    inner: Any = StateGraph(State)
    inner.add_node("inner", lambda _: {"done": [at.first("ana"), at.second("bob")]})
    inner.add_edge(START, "inner")
    graph = at.graph(inner.compile())
    graph.invoke({}, THREAD)
    graph.update_state(THREAD, {"note": "edited"})
    with pytest.raises(Diverged):
        graph.invoke(None, THREAD)
    assert (at.did, at.runs()) == (["first ana"], ["diverged"])


def test_an_edit_that_sends_the_graph_back_stops_the_run_rather_than_repeat_what_it_did() -> None:
    at = Setting()
    builder: Any = StateGraph(State)
    builder.add_node("prepare", lambda _: {"note": "n"})
    builder.add_node("early", lambda _: {"done": at.first("ana")})
    builder.add_node("late", lambda _: {"done": at.second("bob")})
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", "early")
    builder.add_edge("early", "late")
    graph = register(at.il, builder.compile(checkpointer=InMemorySaver()), name="worker")
    graph.invoke({}, THREAD)
    graph.update_state(THREAD, {"note": "edited"}, as_node="prepare")
    with pytest.raises(Diverged):
        graph.invoke(None, THREAD)
    assert at.did == ["first ana"]


def test_an_edit_between_two_rounds_of_a_loop_is_no_edit_of_the_round_before() -> None:
    at = Setting("reversible")
    builder: Any = StateGraph(State)
    builder.add_node("node", lambda state: {"done": [*state["done"], at.first("ana")]})
    builder.add_edge(START, "node")
    builder.add_conditional_edges("node", lambda state: "node" if len(state["done"]) < 3 else "__end__")
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["node"])
    register(at.il, graph, name="worker", decision_key="note")
    graph.invoke({"done": []}, THREAD)
    for _ in range(3):
        at.reviewer.decide("approve")
        at.il.worker().run_until_idle()
    assert (at.did, at.runs()) == (["first ana"] * 3, ["finished"])
