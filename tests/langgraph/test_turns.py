"""Which run a call belongs to in graphs that nobody registered: side by side, after reminders, under long names."""

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send
from tests.langgraph.kinds import GO, THREAD
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock.adapters.langgraph.places import run_name
from interlock.domain.errors import RunError
from interlock.langgraph import InterlockMiddleware
from interlock.testing import Rehearsal


class Payers:
    """Agents that pay what they are asked to, and what was really paid."""

    def __init__(self, stage: Rehearsal) -> None:
        self.stage = stage
        self.paid: list[str] = []

    def tool(self) -> StructuredTool:
        def pay(what: str) -> str:
            """Pay for something."""
            self.paid.append(what)
            return f"paid {what}"

        return StructuredTool.from_function(pay)

    def agent(self, lines: list[Any] | None = None, saver: Any = None, *around: Any, name: str = "payer") -> Any:
        said = lines or [lambda messages: calls(("pay", {"what": messages[-1].content})), says("paid")]
        guard = InterlockMiddleware(self.stage.il, name=name, tools={"pay": "irreversible"})
        return create_agent(ScriptedModel(lines=said), [self.tool()], checkpointer=saver, middleware=[*around, guard])

    def approve_all(self, graph: Any) -> None:
        for _ in range(10):
            cards = self.stage.reviewer.open()
            if not cards:
                return
            self.stage.reviewer.desk.approve(cards[0].card.id, digest=cards[0].card.digest)
            graph.invoke(None, THREAD)

    @property
    def states(self) -> list[str]:
        return [run.state.value for run in self.stage.il.kernel.runs()]


@pytest.fixture
def payers() -> Any:
    with Rehearsal() as stage:
        yield Payers(stage)


class Results(TypedDict, total=False):
    results: Annotated[list[str], operator.add]
    what: str


def sent_to_a_node_that_calls_it(payers: Payers) -> Any:
    agent = payers.agent()

    def node(state: Results) -> Results:
        said = agent.invoke({"messages": [("user", state["what"])]})
        return {"results": [said["messages"][-1].text]}

    graph = StateGraph(Results)
    graph.add_node("node", node)
    graph.add_conditional_edges(START, lambda _: [Send("node", {"what": each}) for each in "abc"], ["node"])
    graph.add_edge("node", END)
    return graph.compile(checkpointer=InMemorySaver())


def sent_to_it_as_a_subgraph(payers: Payers) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("agent", payers.agent())
    sends = [Send("agent", {"messages": [HumanMessage(each)]}) for each in "abc"]
    graph.add_conditional_edges(START, lambda _: sends, ["agent"])
    return graph.compile(checkpointer=InMemorySaver())


def called_as_a_tool(payers: Payers) -> Any:
    agent = payers.agent()

    def ask(what: str) -> str:
        """Ask the payer."""
        return str(agent.invoke({"messages": [("user", what)]})["messages"][-1].text)

    lines = [calls(*(("ask", {"what": each}) for each in "abc")), says()]
    return create_agent(ScriptedModel(lines=lines), [StructuredTool.from_function(ask)], checkpointer=InMemorySaver())


@pytest.mark.parametrize("build", [sent_to_a_node_that_calls_it, sent_to_it_as_a_subgraph, called_as_a_tool])
def test_an_agent_started_several_times_side_by_side_has_a_run_for_each(
    payers: Payers, build: Callable[[Payers], Any]
) -> None:
    graph = build(payers)
    graph.invoke({"results": []} if build is sent_to_a_node_that_calls_it else GO, THREAD)
    assert len(payers.stage.reviewer.open()) == 3
    payers.approve_all(graph)
    assert sorted(payers.paid) == ["a", "b", "c"]
    assert graph.get_state(THREAD).next == ()
    assert payers.states == ["finished"] * 3


class Reminds(AgentMiddleware):
    """Puts in a word of its own after each tool, as if a person had said it."""

    def before_model(self, state: Any, runtime: Any) -> Any:
        if state["messages"][-1].type == "tool":
            return {"messages": [HumanMessage("remember to be brief")]}
        return None


def test_a_reminder_within_a_turn_begins_no_run_and_a_no_still_holds(payers: Payers) -> None:
    twice = [calls(("pay", {"what": "a"}), ids=["c1"]), calls(("pay", {"what": "a"}), ids=["c2"]), says()]
    graph = payers.agent(twice, InMemorySaver(), Reminds())
    graph.invoke(GO, THREAD)
    payers.stage.reviewer.decide("reject")
    graph.invoke(None, THREAD)
    assert payers.stage.reviewer.open() == ()
    assert (payers.paid, payers.states) == ([], ["finished"])


def test_a_message_that_comes_with_the_wake_up_leaves_the_approval_alone(payers: Payers) -> None:
    graph = payers.agent([calls(("pay", {"what": "a"})), says()], InMemorySaver())
    graph.invoke(GO, THREAD)
    graph.invoke(Command(resume=True, update={"messages": [("user", "hurry up")]}), THREAD)
    payers.approve_all(graph)
    assert (payers.paid, payers.states) == (["a"], ["finished"])


def test_two_agents_of_one_name_on_one_thread_are_told_to_take_two_names(payers: Payers) -> None:
    first, second = payers.agent(None, InMemorySaver()), payers.agent(None, InMemorySaver())
    first.invoke(GO, THREAD)
    second.invoke(GO, THREAD)
    with pytest.raises(RunError, match="need different names"):
        first.invoke(None, THREAD)
    assert payers.paid == []


def test_long_names_of_agents_give_runs_of_different_names() -> None:
    names = {run_name(f"{'n' * 60}{each}", "t", "h") for each in "ab"}
    assert len(names) == 2
    assert all(name.startswith("n" * 40) for name in names)
