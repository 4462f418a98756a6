"""A call of a graph that its application breaks off leaves a run that can be gone on with, and says that it waits."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import Interlock
from interlock.domain.interrupt import InterruptKind
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.domain.run import Run, RunState
from interlock.kernel.desk import ReviewDesk
from interlock.langgraph import InterlockMiddleware, register
from interlock.ports.store import Page

THREAD: Any = {"configurable": {"thread_id": "job-1"}}


def the_run(il: Interlock) -> Run:
    (run,) = il.kernel.store.read(lambda rows: rows.runs((), Page(5)))
    return run


def graph_of(il: Interlock, work: Any) -> Any:
    graph: Any = StateGraph(MessagesState)
    graph.add_node("first", lambda _: {})
    graph.add_node("work", work)
    graph.add_edge(START, "first")
    graph.add_edge("first", "work")
    graph.add_edge("work", END)
    return register(il, graph.compile(checkpointer=InMemorySaver()), name="clerk")


@pytest.mark.parametrize("how", ["stream", "interrupted"])
def test_a_call_that_was_broken_off_leaves_a_run_that_waits(how: str) -> None:
    il = Interlock("memory://")
    stops = [KeyboardInterrupt()]

    def work(_: MessagesState) -> dict[str, Any]:
        if stops and how == "interrupted":
            raise stops.pop()
        return {}

    graph = graph_of(il, work)
    given = {"messages": [HumanMessage("go", id="h1")]}
    if how == "stream":
        for _ in graph.stream(given, THREAD):
            break
    else:
        with pytest.raises(KeyboardInterrupt):
            graph.invoke(given, THREAD)
    assert the_run(il).state is RunState.WAITING
    il.kernel.retry(the_run(il).id, "ana").result()
    il.worker().run_until_idle()
    assert the_run(il).state is RunState.FINISHED


def test_what_is_in_doubt_and_was_lost_by_the_checkpointer_is_asked_about() -> None:
    il, saver, tried = Interlock("memory://"), InMemorySaver(), list[str]()

    def rename(to: str) -> str:
        tried.append(to)
        if len(tried) == 1:
            raise KeyboardInterrupt
        return "renamed"

    agent: Any = create_agent(
        ScriptedModel(lines=[calls(("rename", {"to": "x"})), says()]),
        [StructuredTool.from_function(rename, description="rename")],
        checkpointer=saver,
        middleware=[InterlockMiddleware(il, name="clerk", tools={"rename": "reversible"})],
    )
    register(il, agent)
    given = {"messages": [HumanMessage("go", id="h1")]}
    with pytest.raises(KeyboardInterrupt):
        agent.invoke(given, THREAD)
    saver.delete_thread("job-1")
    agent.invoke(given, THREAD)
    assert the_run(il).state is RunState.NEEDS_ATTENTION
    desk = ReviewDesk(il.kernel, Principal(PrincipalKind.REVIEWER, "ana", authn="local"))
    (view,) = desk.open()
    assert view.card.kind is InterruptKind.RECONCILE
    desk.reconcile(view.card.id, digest=view.card.digest, found="failed")
    desk.retry(the_run(il).id)
    il.worker().run_until_idle()
    assert the_run(il).state is RunState.FINISHED
    assert desk.open() == ()
