"""Agents that are not registered: what their middleware sees of a run's end, and of calls that were left behind."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from tests.langgraph.agents import GO, THREAD, Ledger, agent
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock.langgraph import InterlockMiddleware
from interlock.testing import Rehearsal


@pytest.fixture
def stage() -> Any:
    with Rehearsal() as stage:
        yield stage


def runs(stage: Rehearsal) -> list[tuple[str, str]]:
    return [(str(run.state), run.attention) for run in stage.il.kernel.runs()]


def test_a_tool_that_returns_directly_ends_the_run(stage: Rehearsal) -> None:
    ledger = Ledger()
    pay = ledger.tool("pay")
    pay.return_direct = True
    made = agent(stage.il, [calls(("pay", {"what": "a"})), says("never said")], [pay])
    made.invoke(GO, THREAD)
    stage.reviewer.decide("approve")
    made.invoke(None, THREAD)
    assert (ledger, runs(stage)) == (["pay a"], [("finished", "")])


def test_a_run_goes_on_where_a_tool_that_returns_directly_stood_beside_another(stage: Rehearsal) -> None:
    ledger = Ledger()
    pay, note = ledger.tool("pay"), ledger.tool("note")
    pay.return_direct = True
    lines = [
        calls(("pay", {"what": "a"}), ("note", {"what": "b"})),
        calls(("note", {"what": "c"}), ids=["n"]),
        says("ok"),
    ]
    made = agent(stage.il, lines, [pay, note])
    made.invoke(GO, THREAD)
    while stage.reviewer.open():
        first = stage.reviewer.open()[0].card
        stage.reviewer.desk.approve(first.id, digest=first.digest)
        made.invoke(None, THREAD)
    assert sorted(ledger) == ["note b", "note c", "pay a"]
    assert runs(stage) == [("finished", "")]


def test_a_tool_that_returns_directly_leaves_the_card_of_a_call_beside_it_open(stage: Rehearsal) -> None:
    ledger = Ledger()
    pay, note = ledger.tool("pay"), ledger.tool("note")
    note.return_direct = True
    lines = [calls(("pay", {"what": "a"}), ("note", {"what": "b"})), says("ok")]
    made = agent(stage.il, lines, [pay, note], said={"note": "reversible"})
    made.invoke(GO, THREAD)
    assert (ledger, [view.about.action.tool for view in stage.reviewer.open()]) == (["note b"], ["pay"])
    stage.reviewer.decide("approve")
    made.invoke(None, THREAD)
    assert ledger == ["note b", "pay a"]


def test_a_handoff_to_the_graph_around_it_ends_the_run_of_an_agent(stage: Rehearsal) -> None:
    @tool
    def transfer(to: str) -> Any:
        """Hand over."""
        moved = ToolMessage("moved", tool_call_id="c0")
        return Command(goto=to, graph=Command.PARENT, update={"messages": [moved]})

    line = calls(("transfer", {"to": "other"}), ids=["c0"])
    first = create_agent(
        ScriptedModel(lines=[line]),
        [transfer],
        middleware=[InterlockMiddleware(stage.il, name="first", tools={"transfer": "reversible"})],
    )
    builder: Any = StateGraph(MessagesState)
    builder.add_node("first", first, destinations=("other",))
    builder.add_node("other", lambda _: {})
    builder.add_edge(START, "first")
    builder.compile(checkpointer=InMemorySaver()).invoke(GO, THREAD)
    assert runs(stage) == [("finished", "")]


@pytest.mark.parametrize("approved", [False, True])
def test_a_held_call_that_was_answered_in_the_state_is_superseded_when_the_agent_is_over(
    stage: Rehearsal, approved: bool
) -> None:
    ledger = Ledger()
    made = agent(stage.il, [calls(("pay", {"what": "a"})), says("ok")], [ledger.tool("pay")])
    made.invoke(GO, THREAD)
    if approved:
        stage.reviewer.decide("approve")
    (call,) = made.get_state(THREAD).values["messages"][-1].tool_calls
    made.update_state(THREAD, {"messages": [ToolMessage("paid!", tool_call_id=call["id"])]}, as_node="tools")
    made.invoke(None, THREAD)
    assert not ledger
    assert not stage.reviewer.open()
    ((state, attention),) = runs(stage)
    assert state == ("needs_attention" if approved else "finished")
    assert attention.startswith("an approval of pay was not taken up") == approved
