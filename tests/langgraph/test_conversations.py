"""Conversations: new input on a paused thread, what the agent knew, why it calls, and when a run has ended."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from tests.langgraph.kinds import GO, THREAD
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import DecisionError, Interlock, Versions
from interlock.langgraph import InterlockMiddleware, register
from interlock.testing import Rehearsal


class Mail:
    """An agent that sends mail, its model, and what was really sent."""

    def __init__(self, stage: Rehearsal, lines: list[Any], *, registered: bool, **keywords: Any) -> None:
        self.sent: list[str] = []
        self.model = ScriptedModel(lines=lines)

        def send(to: str) -> str:
            """Send a mail."""
            self.sent.append(to)
            return f"sent to {to}"

        self.saver = InMemorySaver()
        self.graph: Any = create_agent(
            self.model,
            [StructuredTool.from_function(send)],
            checkpointer=self.saver,
            middleware=[
                InterlockMiddleware(
                    stage.il, name="mailer", tools={"send": {"reversibility": "irreversible", **keywords}}
                )
            ],
        )
        if registered:
            register(stage.il, self.graph)

    def say(self, text: str) -> None:
        self.graph.invoke({"messages": [{"role": "user", "content": text}]}, THREAD)

    def go_on(self) -> None:
        self.graph.invoke(None, THREAD)

    @property
    def messages(self) -> list[Any]:
        return self.graph.get_state(THREAD).values["messages"]


@pytest.fixture
def stage() -> Any:
    with Rehearsal() as stage:
        yield stage


both = pytest.mark.parametrize("registered", [True, False], ids=["registered", "unregistered"])
SEND = [calls(("send", {"to": "bob"})), says("never mind")]


@both
def test_new_input_on_a_paused_thread_supersedes_what_was_held_and_the_model_is_told(
    stage: Rehearsal, registered: bool
) -> None:
    mail = Mail(stage, SEND, registered=registered)
    mail.say("Write to Bob")
    (view,) = stage.reviewer.open()
    mail.say("Forget it")
    assert stage.reviewer.open() == ()
    with pytest.raises(DecisionError):
        stage.reviewer.desk.approve(view.card.id, digest=view.card.digest)
    seen = mail.model.asked[-1]
    assert [type(each) for each in seen] == [HumanMessage, AIMessage, ToolMessage, HumanMessage]
    assert "was not run" in seen[2].text
    assert [type(each) for each in mail.messages] == [HumanMessage, AIMessage, ToolMessage, HumanMessage, AIMessage]
    assert mail.messages[2].text == seen[2].text
    mail.go_on()
    assert mail.sent == []
    states = {run.state.value for run in stage.il.kernel.runs()}
    assert states == {"cancelled", "finished"}


@both
def test_each_input_is_a_run_of_its_own_and_has_ended_when_the_agent_has_spoken(
    stage: Rehearsal, registered: bool
) -> None:
    mail = Mail(stage, [calls(("send", {"to": "bob"})), says(), calls(("send", {"to": "eve"})), says()],
                registered=registered)  # fmt: skip
    for text in ("Write to Bob", "And to Eve"):
        mail.say(text)
        stage.reviewer.decide("approve")
        mail.go_on()
    assert mail.sent == ["bob", "eve"]
    runs = stage.il.kernel.runs()
    assert [(run.state.value, run.thread) for run in runs] == [("finished", "job-1")] * 2
    assert all(run.id.startswith("mailer:job-1/") for run in runs)


def test_the_same_mail_again_after_new_input_is_no_repetition(stage: Rehearsal) -> None:
    mail = Mail(stage, [calls(("send", {"to": "bob"})), says(), calls(("send", {"to": "bob"})), says()],
                registered=True)  # fmt: skip
    mail.say("Write to Bob")
    stage.reviewer.decide("reject")
    mail.go_on()
    mail.say("Do write to Bob")
    stage.reviewer.decide("approve")
    mail.go_on()
    assert mail.sent == ["bob"]


def facts_of(stage: Rehearsal, number: int = 1) -> dict[str, Any]:
    (run,) = stage.il.kernel.runs()

    def query(rows: Any) -> Any:
        action = rows.actions_of_run(run.id)[-1]
        return json.loads(rows.revision(action.id, number).facts)

    return stage.il.kernel.store.read(query)


def conversation(stage: Rehearsal, head: str) -> list[Any]:
    told: list[Any] = []
    while head:
        node = json.loads(stage.il.kernel.blob(head))
        told.insert(0, node["message"])
        head = node["before"]
    return told


@both
def test_what_the_agent_knew_is_kept_with_its_proposal_message_by_message(stage: Rehearsal, registered: bool) -> None:
    lines = [calls(("send", {"to": "ann"}), text="Ann first."), calls(("send", {"to": "bob"})), says()]
    mail = Mail(stage, lines, registered=registered)
    mail.say("Write to Ann and Bob")
    first = facts_of(stage)["messages"]
    assert [each["role"] for each in conversation(stage, first)] == ["human", "ai"]
    assert facts_of(stage)["reasoning"] == "Ann first."
    stage.reviewer.decide("approve")
    mail.go_on()
    told = conversation(stage, facts_of(stage)["messages"])
    assert [each["role"] for each in told] == ["human", "ai", "tool", "ai"]
    assert told[2]["content"] == "sent to ann"
    assert told[:2] == conversation(stage, first)


def test_a_tool_may_ask_the_model_why_and_never_gets_to_see_the_answer(stage: Rehearsal) -> None:
    why = {"to": "bob", "reasoning": "He waits for it.", "confidence": 0.7, "uncertainty_reasons": ["two Bobs"]}
    mail = Mail(stage, [calls(("send", why)), says()], registered=True, ask_rationale=True)
    shown: list[Any] = []
    bind = ScriptedModel.bind_tools
    try:
        ScriptedModel.bind_tools = lambda self, tools, **_: (shown.extend(tools), self)[1]  # type: ignore[method-assign]
        mail.say("Write to Bob")
    finally:
        ScriptedModel.bind_tools = bind  # type: ignore[method-assign]
    assert {"to", "reasoning", "confidence", "uncertainty_reasons"} <= set(shown[0].args_schema["properties"])
    (view,) = stage.reviewer.open()
    assert dict(view.about.current.arguments) == {"to": "bob"}
    facts = facts_of(stage)
    assert (facts["reasoning"], facts["uncertainty"]) == ("He waits for it.", ["two Bobs"])
    stage.reviewer.decide("approve")
    mail.go_on()
    assert mail.sent == ["bob"]


def test_the_model_that_spoke_is_kept_and_else_the_declared_one(stage: Rehearsal) -> None:
    line = calls(("send", {"to": "bob"}))
    line.response_metadata = {"model_name": "some-model-3"}
    Mail(stage, [line, says()], registered=True).say("Write to Bob")
    assert facts_of(stage)["model"] == "some-model-3"


def test_calls_of_one_turn_that_follow_one_another_at_once_are_one_run_on_disk(tmp_path: Path) -> None:
    def look(what: str) -> str:
        """Look something up."""
        return what

    def note(what: str) -> str:
        """Write something down."""
        return what

    lines = [calls(("look", {"what": "a"})), calls(("note", {"what": "b"})), calls(("note", {"what": "c"})), says()]
    with Interlock(f"sqlite:///{tmp_path}/interlock.db") as il:
        agent = create_agent(
            ScriptedModel(lines=lines),
            [StructuredTool.from_function(look), StructuredTool.from_function(note)],
            checkpointer=InMemorySaver(),
            middleware=[InterlockMiddleware(il, name="clerk", tools={"look": "read_only", "note": "reversible"})],
        )
        for number in range(5):
            agent.invoke(GO, {"configurable": {"thread_id": f"t{number}"}})
        assert [run.state for run in il.kernel.runs()] == ["finished"] * 5


class TunedModel(ScriptedModel):
    """A model with a temperature, and a key that is nobody's business."""

    temperature: float = 0.2
    api_key: str = "sk-very-secret"


def test_how_the_model_was_asked_is_kept_and_nothing_else_that_it_is_configured_with(stage: Rehearsal) -> None:
    @wrap_model_call  # what an application sets for one call stands before what the model is made with
    def tuned(request: Any, handler: Any) -> Any:
        settings = {"max_tokens": 400, "seed": True, "reasoning_effort": "low", "extra_headers": {"x": "token"}}
        return handler(request.override(model_settings=settings))

    def send(to: str) -> str:
        """Send a mail."""
        return to

    guarded = InterlockMiddleware(stage.il, name="mailer", tools={"send": "irreversible"})
    agent = create_agent(
        TunedModel(lines=SEND),
        [StructuredTool.from_function(send)],
        checkpointer=InMemorySaver(),
        middleware=[tuned, guarded],
    )
    agent.invoke(GO, THREAD)
    parameters = facts_of(stage)["model_parameters"]
    assert parameters == {"temperature": 0.2, "max_tokens": 400, "reasoning_effort": "low"}


def test_the_versions_that_are_declared_are_kept_with_runs_of_graphs() -> None:
    with Rehearsal(versions=Versions(agent="7", model="m-1")) as stage:
        Mail(stage, SEND, registered=True).graph.invoke(GO, THREAD)
        assert stage.il.kernel.runs()[0].versions.agent == "7"
        assert facts_of(stage)["model"] == "m-1"
