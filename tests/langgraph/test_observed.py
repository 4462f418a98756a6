"""Graphs that pause by themselves: seen, decided, answered in their own form, and marked as observed."""

import asyncio
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from tests.langgraph.kinds import GO, THREAD, hand_written
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import Interlock
from interlock.domain.errors import RunError
from interlock.langgraph import register
from interlock.testing import Rehearsal, modify, reject, respond


class Plan(TypedDict, total=False):
    action: dict[str, Any]
    confidence: float
    decision: Any
    done: list[str]


def planning_graph(il: Interlock, saver: Any, payload: Any = None, **registered: Any) -> Any:
    """The classic: a node that plans with a confidence, a node that gates what cannot be undone, a node that acts."""

    def plan(state: Plan) -> Plan:
        return {"action": {"name": "delete_record", "id": 7}, "confidence": 0.4, "done": []}

    def gate(state: Plan) -> Plan:
        asked = payload or {
            "action": state["action"],
            "confidence": state["confidence"],
            "options": ["approve", "reject", "modify"],
        }
        return {"decision": interrupt(asked)}

    def act(state: Plan) -> Plan:
        said = state["decision"]
        if isinstance(said, dict) and said.get("decision") == "modify":
            return {"done": [f"did {said['modified_action']}"]}
        return {"done": ["did it"] if said == {"decision": "approve", "reason": ""} else ["did nothing"]}

    builder = StateGraph(Plan)
    for node in (plan, gate, act):
        builder.add_node(node)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "gate")
    builder.add_edge("gate", "act")
    builder.add_edge("act", END)
    return register(il, builder.compile(checkpointer=saver), name="planner", **registered)


@pytest.fixture
def stage() -> Any:
    with Rehearsal() as stage:
        yield stage


def state(graph: Any) -> dict[str, Any]:
    return graph.get_state(THREAD).values


def test_a_node_that_interrupts_appears_on_a_card_that_says_it_is_observed(stage: Rehearsal) -> None:
    graph = planning_graph(stage.il, InMemorySaver())
    graph.invoke({}, THREAD)
    (view,) = stage.reviewer.open()
    assert view.about.action.tool == "gate"
    assert view.about.action.traits.kind == "observed"
    assert dict(view.about.current.arguments)["action"] == {"name": "delete_record", "id": 7}
    assert view.about.action.traits.answers == ("approve", "reject", "modify")
    (run,) = stage.il.kernel.runs()
    assert (run.workflow, run.thread, run.state) == ("planner", "job-1", "waiting")


@pytest.mark.parametrize(
    ("said", "told", "done"),
    [
        ("approve", {"decision": "approve", "reason": ""}, ["did it"]),
        (reject("too risky"), {"decision": "reject", "reason": "too risky"}, ["did nothing"]),
        (
            modify(action={"name": "archive_record", "id": 7}),
            {
                "decision": "modify",
                "reason": "",
                "modified_action": {"action": {"name": "archive_record", "id": 7}, "confidence": 0.4},
            },
            ["did {'action': {'id': 7, 'name': 'archive_record'}, 'confidence': 0.4}"],
        ),
    ],
)
def test_the_node_gets_the_answer_and_the_graph_goes_on(stage: Rehearsal, said: Any, told: Any, done: Any) -> None:
    graph = planning_graph(stage.il, InMemorySaver())
    graph.invoke({}, THREAD)
    stage.reviewer.decide(said)
    stage.il.worker().run_until_idle()
    assert (state(graph)["decision"], state(graph)["done"]) == (told, done)
    (run,) = stage.il.kernel.runs()
    assert (run.state, stage.reviewer.open()) == ("finished", ())


def test_silence_sends_what_the_registration_says(stage: Rehearsal) -> None:
    graph = planning_graph(stage.il, InMemorySaver(), on_expiry="reject", expires_in="1h")
    graph.invoke({}, THREAD)
    stage.clock.advance("2h")
    stage.il.worker().run_until_idle()
    assert state(graph)["decision"]["decision"] == "reject"
    assert state(graph)["done"] == ["did nothing"]


def test_a_bare_question_gets_the_plain_value(stage: Rehearsal) -> None:
    graph = planning_graph(stage.il, InMemorySaver(), payload="How many copies?")
    graph.invoke({}, THREAD)
    stage.reviewer.decide(respond(3))
    stage.il.worker().run_until_idle()
    assert state(graph)["decision"] == 3


def test_options_of_the_graphs_own_are_offered_and_handed_back(stage: Rehearsal) -> None:
    asked = {"question": "Where to?", "options": ["north", "south"]}
    graph = planning_graph(stage.il, InMemorySaver(), payload=asked)
    graph.invoke({}, THREAD)
    stage.reviewer.decide(respond("south"))
    stage.il.worker().run_until_idle()
    assert state(graph)["decision"] == {"decision": "south", "reason": ""}


def test_waking_the_graph_without_an_answer_asks_nothing_new(stage: Rehearsal) -> None:
    graph = planning_graph(stage.il, InMemorySaver())
    graph.invoke({}, THREAD)
    (before,) = stage.reviewer.open()
    graph.invoke(None, THREAD)
    (after,) = stage.reviewer.open()
    assert before.card.id == after.card.id


def test_an_answer_that_the_application_gave_itself_leaves_no_card_open(stage: Rehearsal) -> None:
    from langgraph.types import Command

    graph = planning_graph(stage.il, InMemorySaver())
    graph.invoke({}, THREAD)
    graph.invoke(Command(resume={"decision": "approve", "reason": ""}), THREAD)
    assert state(graph)["done"] == ["did it"]
    assert stage.reviewer.open() == ()


def hitl_agent(il: Interlock, saver: Any, ledger: list[Any], mode: Any) -> Any:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        ledger.append(amount)
        return f"paid {amount}"

    agent = create_agent(
        ScriptedModel(lines=[calls(("pay", {"amount": 10}), ("pay", {"amount": 20})), says()]),
        [pay],
        checkpointer=saver,
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"pay": True}, interrupt_mode=mode)],
    )
    return register(il, agent, name="payer")


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_langchains_own_middleware_is_answered_in_its_wire_format(stage: Rehearsal, mode: str) -> None:
    ledger: list[Any] = []
    agent = hitl_agent(stage.il, InMemorySaver(), ledger, mode)
    agent.invoke(GO, THREAD)
    assert sorted(view.about.current.arguments["amount"] for view in stage.reviewer.open()) == [10, 20]
    stage.reviewer.decide(reject("no"), "pay", amount=10)
    stage.il.worker().run_until_idle()
    stage.reviewer.decide(modify(amount=19), "pay", amount=20)
    stage.il.worker().run_until_idle()
    assert ledger == [19]
    told = [each for each in state(agent)["messages"] if isinstance(each, ToolMessage)]
    assert "no" in str(told[0].content)
    assert stage.il.kernel.runs()[0].state == "finished"


def test_the_older_form_of_agent_inboxes_is_answered_in_its_own_words(stage: Rehearsal) -> None:
    asked = [
        {
            "action_request": {"action": "send", "args": {"to": "bob"}},
            "config": {"allow_ignore": True, "allow_respond": True, "allow_edit": True, "allow_accept": True},
            "description": "Send it?",
        }
    ]
    graph = planning_graph(stage.il, InMemorySaver(), payload=asked)
    graph.invoke({}, THREAD)
    stage.reviewer.decide(modify(to="ana"))
    stage.il.worker().run_until_idle()
    assert state(graph)["decision"] == [{"type": "edit", "args": {"action": "send", "args": {"to": "ana"}}}]


def stopping_graph(il: Interlock, saver: Any, done: list[str], **registered: Any) -> Any:
    class Draft(TypedDict, total=False):
        draft: str
        review: Any

    def write(state: Draft) -> Draft:
        return {"draft": "Dear Bob"}

    def send(state: Draft) -> None:
        done.append(f"{state['draft']} {state.get('review', {}).get('decision', '')}".strip())

    builder = StateGraph(Draft)
    builder.add_node("write", write)
    builder.add_node("send", send)
    builder.add_edge(START, "write")
    builder.add_edge("write", "send")
    return register(il, builder.compile(checkpointer=saver, interrupt_before=["send"]), name="writer", **registered)


def test_a_fixed_stop_is_answered_under_the_declared_key(stage: Rehearsal) -> None:
    done: list[str] = []
    graph = stopping_graph(stage.il, InMemorySaver(), done, decision_key="review")
    graph.invoke({}, THREAD)
    (view,) = stage.reviewer.open()
    assert (view.about.action.tool, view.about.current.arguments["draft"]) == ("send", "Dear Bob")
    assert done == []
    stage.reviewer.decide("approve")
    stage.il.worker().run_until_idle()
    assert done == ["Dear Bob approve"]
    assert stage.il.kernel.runs()[0].state == "finished"


@pytest.mark.parametrize("said", ["approve", "reject"])
def test_a_fixed_stop_without_a_key_goes_on_at_a_yes_and_ends_at_a_no(stage: Rehearsal, said: str) -> None:
    done: list[str] = []
    graph = stopping_graph(stage.il, InMemorySaver(), done)
    graph.invoke({}, THREAD)
    stage.reviewer.decide(said)
    stage.il.worker().run_until_idle()
    assert done == (["Dear Bob"] if said == "approve" else [])
    assert stage.il.kernel.runs()[0].state == ("finished" if said == "approve" else "cancelled")


def test_an_asynchronous_graph_is_answered_too(stage: Rehearsal) -> None:
    graph = planning_graph(stage.il, InMemorySaver())
    asyncio.run(graph.ainvoke({}, THREAD))
    stage.reviewer.decide("approve")
    stage.il.worker().run_until_idle()
    assert state(graph)["done"] == ["did it"]


def test_a_guarded_call_and_a_question_in_one_node_do_not_take_each_others_answers(stage: Rehearsal) -> None:
    sent: list[str] = []

    @stage.il.tool("irreversible")
    def send(to: str) -> str:
        sent.append(to)
        return f"sent {to}"

    def node(state: MessagesState) -> Any:
        first = send("bob")
        answer = interrupt("Shall I tell Eve?")
        return {"messages": [("ai", f"{first}; {answer}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    graph = register(stage.il, builder.compile(checkpointer=InMemorySaver()), name="both")
    graph.invoke(GO, THREAD)
    assert [view.about.action.tool for view in stage.reviewer.open()] == ["send"]
    stage.reviewer.decide("approve")
    stage.il.worker().run_until_idle()
    assert sent == ["bob"]
    stage.reviewer.decide(respond("no, thanks"))
    stage.il.worker().run_until_idle()
    assert state(graph)["messages"][-1].text == "sent bob; no, thanks"
    assert sent == ["bob"]


def test_several_cards_of_one_node_are_answered_when_all_of_them_are_decided(stage: Rehearsal) -> None:
    ledger: list[Any] = []
    agent = hitl_agent(stage.il, InMemorySaver(), ledger, "batched")
    agent.invoke(GO, THREAD)
    stage.reviewer.decide("approve", "pay", amount=10)
    stage.il.worker().run_until_idle()
    assert ledger == []
    stage.reviewer.decide(reject("ask first"), "pay", amount=20)
    stage.il.worker().run_until_idle()
    assert ledger == [10]


def test_a_hand_written_graph_without_guarded_tools_needs_nothing_of_ours(stage: Rehearsal) -> None:
    graph = hand_written(ScriptedModel(lines=[says("hello")]), []).compile(checkpointer=InMemorySaver())
    register(stage.il, graph, name="chat")
    graph.invoke(GO, THREAD)
    assert stage.il.kernel.runs()[0].state == "finished"


def asking_twice(il: Interlock, *questions: str) -> Any:
    builder = StateGraph(Plan)
    builder.add_node("ask", lambda _: {"done": [interrupt(each) for each in questions]})
    builder.add_edge(START, "ask")
    return register(il, builder.compile(checkpointer=InMemorySaver()), name="asker")


@pytest.mark.parametrize("by", ["application", "worker"])
@pytest.mark.parametrize("questions", [("really?",), ("really?", "really?"), ("this?", "that?")])
def test_each_answer_reaches_its_own_question_whoever_goes_on(
    stage: Rehearsal, questions: tuple[str, ...], by: str
) -> None:
    graph = asking_twice(stage.il, *questions)
    graph.invoke({}, THREAD)
    graph.invoke(None, THREAD)  # too early: it only asks again
    for number, _ in enumerate(questions):
        assert len(stage.reviewer.open()) == 1
        assert [str(run.state) for run in stage.il.kernel.runs()] == ["waiting"]
        stage.reviewer.decide(respond(f"answer {number}"))
        if by == "worker":
            stage.go_on()
        else:
            graph.invoke(None, THREAD)
    assert state(graph)["done"] == [f"answer {number}" for number, _ in enumerate(questions)]
    assert [str(run.state) for run in stage.il.kernel.runs()] == ["finished"]


def test_an_application_hands_an_answer_over_in_asynchronous_code(stage: Rehearsal) -> None:
    graph = asking_twice(stage.il, "really?")

    async def job() -> None:
        await graph.ainvoke({}, THREAD)
        await asyncio.to_thread(stage.reviewer.decide, respond("yes"))
        await graph.ainvoke(None, THREAD)

    asyncio.run(job())
    assert state(graph)["done"] == ["yes"]


def test_a_no_at_a_fixed_stop_also_stops_an_application_that_goes_on(stage: Rehearsal) -> None:
    done: list[str] = []
    graph = stopping_graph(stage.il, InMemorySaver(), done)
    graph.invoke({}, THREAD)
    stage.reviewer.decide(reject("no"))
    with pytest.raises(RunError):
        graph.invoke(None, THREAD)
    assert done == []
