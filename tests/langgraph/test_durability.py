"""What the model said is kept before a tool acts on it, however the graph is called: a crash repeats no call."""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock.langgraph import InterlockMiddleware, register
from interlock.testing import Rehearsal

THREAD: Any = {"configurable": {"thread_id": "job-1"}}
GO: Any = {"messages": [{"role": "user", "content": "go"}]}

durabilities = pytest.mark.parametrize("options", [{}, *({"durability": each} for each in ("exit", "async", "sync"))])


def agent_that_looks(stage: Rehearsal, found: list[Any]) -> Any:
    """An agent whose tool notes the last message that is kept while it runs."""
    saver = InMemorySaver()

    def write(text: str) -> str:
        kept = saver.get_tuple(THREAD)
        found.append(kept.checkpoint["channel_values"]["messages"][-1] if kept is not None else None)
        return text

    agent = create_agent(
        ScriptedModel(lines=[calls(("write", {"text": "a"})), says()]),
        [StructuredTool.from_function(write, description="Write.")],
        checkpointer=saver,
        middleware=[InterlockMiddleware(stage.il, name="writer", tools={"write": "reversible"})],
    )
    return register(stage.il, agent)


@durabilities
def test_the_message_that_makes_a_call_is_kept_before_the_tool_runs(stage: Rehearsal, options: dict[str, Any]) -> None:
    found: list[Any] = []
    agent_that_looks(stage, found).invoke(GO, THREAD, **options)
    assert [isinstance(each, AIMessage) and each.tool_calls[0]["name"] for each in found] == ["write"]


@durabilities
def test_it_is_kept_in_asynchronous_calls_too(stage: Rehearsal, options: dict[str, Any]) -> None:
    found: list[Any] = []
    asyncio.run(agent_that_looks(stage, found).ainvoke(GO, THREAD, **options))
    assert [isinstance(each, AIMessage) and each.tool_calls[0]["name"] for each in found] == ["write"]
