"""The idempotency key of a LangChain tool: Interlock gives it, whatever the model says and however it is made."""

import asyncio
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock.langgraph import InterlockMiddleware
from interlock.testing import Rehearsal

KEYWORDS: dict[str, Any] = {"reversibility": "reversible", "idempotent": True, "idempotency_key": "key"}


class OnlyText(BaseModel):
    text: str


def write_and_note(keys: list[str]) -> Any:
    def write(text: str, key: str = "") -> str:
        """Write."""
        keys.append(key)
        return text

    return write


def open_schema(stage: Rehearsal, keys: list[str]) -> BaseTool:
    return StructuredTool.from_function(write_and_note(keys), name="write")


def injected(stage: Rehearsal, keys: list[str]) -> BaseTool:
    def write(text: str, key: Annotated[str, InjectedToolArg] = "") -> str:
        """Write."""
        keys.append(key)
        return text

    return StructuredTool.from_function(write, name="write")


def guarded_function(stage: Rehearsal, keys: list[str]) -> BaseTool:
    return StructuredTool.from_function(stage.il.guard(write_and_note(keys), **KEYWORDS), name="write")


def guarded_function_with_a_schema(stage: Rehearsal, keys: list[str]) -> BaseTool:
    write = stage.il.guard(write_and_note(keys), **KEYWORDS)
    return StructuredTool(name="write", description="Write.", args_schema=OnlyText, func=write)


def guarded_coroutine(stage: Rehearsal, keys: list[str]) -> BaseTool:
    async def write(text: str, key: str = "") -> str:
        """Write."""
        keys.append(key)
        return text

    return StructuredTool.from_function(coroutine=stage.il.guard(write, **KEYWORDS), name="write")


@pytest.mark.parametrize("args", [{"text": "a"}, {"text": "a", "key": "of the model"}], ids=["silent", "given"])
@pytest.mark.parametrize("make", [open_schema, injected, guarded_function, guarded_function_with_a_schema])
def test_the_tool_gets_the_key_of_the_action(stage: Rehearsal, make: Any, args: dict[str, Any]) -> None:
    keys: list[str] = []
    agent = agent_with(stage, make(stage, keys), args)
    agent.invoke(*GO)
    [action] = stage.actions(stage.il.kernel.runs((), 1, None)[0].id)
    assert keys == [f"{action.id}.1"]


def test_a_coroutine_gets_it_too(stage: Rehearsal) -> None:
    keys: list[str] = []
    agent = agent_with(stage, guarded_coroutine(stage, keys), {"text": "a"})
    asyncio.run(agent.ainvoke(*GO))
    [action] = stage.actions(stage.il.kernel.runs((), 1, None)[0].id)
    assert keys == [f"{action.id}.1"]


def test_the_model_need_not_see_an_injected_key(stage: Rehearsal) -> None:
    tool = injected(stage, [])
    stage.il.guard(tool, **KEYWORDS)
    assert list(tool.tool_call_schema.model_json_schema()["properties"]) == ["text"]


GO: tuple[Any, Any] = ({"messages": [{"role": "user", "content": "go"}]}, {"configurable": {"thread_id": "job-1"}})


def agent_with(stage: Rehearsal, tool: BaseTool, args: dict[str, Any]) -> Any:
    declared = stage.il.guards.stand_ins.tool_of(tool.func or tool.coroutine) is not None
    said = {} if declared else {"write": KEYWORDS}
    return create_agent(
        ScriptedModel(lines=[calls(("write", args)), says()]),
        [tool],
        checkpointer=InMemorySaver(),
        middleware=[InterlockMiddleware(stage.il, name="writer", tools=said)],
    )
