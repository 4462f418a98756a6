"""Deep agents: their own tools ask nobody, and a sub-agent's call pauses the whole and goes on where it stood."""

from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from tests.langgraph.kinds import GO, THREAD
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock.langgraph import DEEP_AGENT_TOOLS, InterlockMiddleware, register
from interlock.testing import Rehearsal


def deep(stage: Rehearsal, sent: list[str], *, registered: bool) -> Any:
    def send(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return f"sent to {to}"

    tool = StructuredTool.from_function(send)
    ours = InterlockMiddleware(stage.il, name="deep", tools={**DEEP_AGENT_TOOLS, "send": "irreversible"})
    inner = ScriptedModel(lines=[calls(("ls", {"path": "/"})), calls(("send", {"to": "bob"})), says("sub done")])
    outer = ScriptedModel(
        lines=[
            calls(("write_todos", {"todos": [{"content": "mail", "status": "pending"}]})),
            calls(("write_file", {"file_path": "/note", "content": "x"})),
            calls(("task", {"description": "mail Bob", "subagent_type": "mailer"})),
            calls(("send", {"to": "eve"})),
            says("all done"),
        ]
    )
    agent = create_deep_agent(
        outer,
        [tool],
        middleware=[ours],
        subagents=[
            {
                "name": "mailer",
                "description": "Mails.",
                "system_prompt": "Mail.",
                "tools": [tool],
                "model": inner,
                "middleware": [ours],
            }
        ],
        checkpointer=InMemorySaver(),
    )
    return register(stage.il, agent, name="deep") if registered else agent


@pytest.mark.parametrize("registered", [True, False], ids=["registered", "unregistered"])
def test_a_sub_agents_call_pauses_the_whole_and_goes_on_where_it_stood(registered: bool) -> None:
    sent: list[str] = []
    with Rehearsal() as stage:
        agent = deep(stage, sent, registered=registered)
        agent.invoke(GO, THREAD)
        (view,) = stage.reviewer.open()
        assert (view.about.action.tool, dict(view.about.current.arguments)) == ("send", {"to": "bob"})
        stage.reviewer.decide("approve")
        agent.invoke(None, THREAD)
        assert sent == ["bob"]
        stage.reviewer.decide("approve", "send", to="eve")
        agent.invoke(None, THREAD)
        assert sent == ["bob", "eve"]
        messages = agent.get_state(THREAD).values["messages"]
        assert messages[-1].text == "all done"
        assert [each.text for each in messages if isinstance(each, ToolMessage)][-2:] == ["sub done", "sent to eve"]
        assert {run.state.value for run in stage.il.kernel.runs()} == {"finished"}
        assert stage.reviewer.open() == ()
