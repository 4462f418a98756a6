"""What is let through and then meets a pause on its way, or makes one in its own body: it waits, and happens once."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from tests.langgraph.agents import GO, THREAD, Ledger, agent, is_over, texts
from tests.langgraph.scripted import calls, says

from interlock.langgraph import register
from interlock.testing import Rehearsal, respond

PAY = calls(("pay", {"what": "rent"}))


@pytest.fixture
def stage() -> Any:
    with Rehearsal() as stage:
        yield stage


def asking_tool(ledger: list[str], questions: int = 1) -> BaseTool:
    """A tool as LangGraph's pages show them: it asks in its body, and acts after that."""

    def pay(what: str) -> str:
        ledger.append("began")
        said = [interrupt(f"question {n + 1}?") for n in range(questions)]
        ledger.append(f"paid {what} {' '.join(said)}")
        return f"paid {what}"

    return StructuredTool.from_function(pay, name="pay", description="Pay.")


def asked(stage: Rehearsal) -> list[str]:
    return [str(view.about.action.traits.kind) for view in stage.reviewer.open()]


def states(stage: Rehearsal) -> list[tuple[str, str]]:
    return [(run.state, run.attention) for run in stage.il.kernel.runs()]


class Asks(AgentMiddleware[Any, Any]):
    """A middleware of somebody's own that asks before every tool."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        interrupt("Really?")
        return handler(request)


@pytest.mark.parametrize("said", ["irreversible", "reversible", "read_only"])
def test_a_question_in_the_body_of_a_tool_reaches_a_card_and_the_tool_is_done_once_answered(
    stage: Rehearsal, said: str
) -> None:
    ledger: list[str] = []
    made = agent(stage.il, [PAY, says()], [asking_tool(ledger)], registered=True, said={"pay": said})
    made.invoke(GO, THREAD)
    if said == "irreversible":
        stage.decide("approve")
    assert (asked(stage), states(stage), ledger) == (["observed"], [("waiting", "")], ["began"])
    stage.go_on()  # nothing is due before somebody answers
    assert ledger == ["began"]
    stage.decide(respond("yes"))
    assert (ledger, texts(made)) == (["began", "began", "paid rent yes"], ["paid rent"])
    assert (asked(stage), states(stage), is_over(made)) == ([], [("finished", "")], True)
    stage.assert_ran_once("pay")


def test_a_body_may_ask_more_often_than_a_tool_may_be_tried(stage: Rehearsal) -> None:
    ledger: list[str] = []
    made = agent(stage.il, [PAY, says()], [asking_tool(ledger, 5)], registered=True, said={"pay": "reversible"})
    made.invoke(GO, THREAD)
    for n in range(5):
        assert asked(stage) == ["observed"]
        stage.decide(respond(str(n)))
    assert (ledger[-1], states(stage)) == ("paid rent 0 1 2 3 4", [("finished", "")])


@pytest.mark.parametrize("said", ["irreversible", "reversible", "read_only"])
def test_without_registration_the_application_answers_the_question_in_the_body(stage: Rehearsal, said: str) -> None:
    ledger: list[str] = []
    made = agent(stage.il, [PAY, says()], [asking_tool(ledger)], said={"pay": said})
    first = made.invoke(GO, THREAD)
    if said == "irreversible":
        stage.reviewer.decide("approve")
        first = made.invoke(None, THREAD)
    assert [each.value for each in first["__interrupt__"]] == ["question 1?"]
    made.invoke(Command(resume="yes"), THREAD)
    assert (ledger, asked(stage)) == (["began", "began", "paid rent yes"], [])


@pytest.mark.parametrize("said", ["irreversible", "reversible", "read_only"])
def test_a_guarded_function_may_ask_in_its_body_too(stage: Rehearsal, said: Any) -> None:
    ledger: list[str] = []

    @stage.il.tool(said)
    def pay(what: str) -> str:
        """Pay."""
        answer = interrupt("Really?")
        ledger.append(f"paid {what} {answer}")
        return answer

    class State(TypedDict, total=False):
        done: str

    def node(_: State) -> State:
        return {"done": pay("rent")}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph: Any = register(stage.il, builder.compile(checkpointer=InMemorySaver()), name="payer")
    graph.invoke({}, THREAD)
    if said == "irreversible":
        stage.decide("approve")
    assert (asked(stage), states(stage)) == (["observed"], [("waiting", "")])
    stage.decide(respond("yes"))
    assert (ledger, states(stage), asked(stage)) == (["paid rent yes"], [("finished", "")], [])


@pytest.mark.parametrize("said", ["irreversible", "reversible"])
@pytest.mark.parametrize("inside", [Asks, lambda: HumanInTheLoopMiddleware({"pay": True}, interrupt_mode="per_call")])
def test_a_pause_of_a_middleware_inside_ours_is_waited_for_and_then_the_call_runs_once(
    stage: Rehearsal, inside: Any, said: str
) -> None:
    ledger = Ledger()
    made = agent(stage.il, [PAY, says()], [ledger.tool("pay")], inside=[inside()], registered=True, said={"pay": said})
    made.invoke(GO, THREAD)
    if said == "irreversible":
        stage.decide("approve")
    assert (asked(stage), states(stage), ledger) == (["observed"], [("waiting", "")], [])
    stage.decide("approve")
    assert (ledger, states(stage), asked(stage), is_over(made)) == (["pay rent"], [("finished", "")], [], True)
