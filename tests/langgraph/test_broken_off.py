"""A call of a graph that its application breaks off leaves a run that can be gone on with, and says that it waits."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from interlock import Interlock
from interlock.domain.run import Run, RunState
from interlock.langgraph import register
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
