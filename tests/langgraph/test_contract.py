"""The LangGraph adapter, held to what every adapter does."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import Interlock
from interlock.langgraph import InterlockMiddleware, register
from interlock.testing import AdapterContract
from interlock.testing.adapter_contract import AgentUnderTest
from interlock.testing.adapter_plan import Plan, Told, ToolsUnderTest

THREAD = {"configurable": {"thread_id": "job-1"}}


def lines(plan: Plan) -> list[AIMessage]:
    return [*(calls(*((call.tool, {"to": call.to}) for call in turn)) for turn in plan.turns), says()]


def answers_in(messages: Sequence[Any], plan: Plan) -> list[Told] | None:
    if not messages or not isinstance(messages[-1], AIMessage) or messages[-1].tool_calls:
        return None
    told: list[Told] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            mark = message.additional_kwargs.get("interlock", {})
            told.append(Told(str(message.content), mark.get("refused", "")))
    return told


class MiddlewareAgent:
    """`create_agent` with the middleware, called by the application itself."""

    def __init__(self, il: Interlock, plan: Plan, tools: ToolsUnderTest, saver: Any) -> None:
        self.plan, self.saver = plan, saver
        made = [StructuredTool.from_function(fn, name=name) for name, fn in tools.functions.items()]
        guarded = {each.name: il.guard(each, **tools.keywords[each.name]) for each in made}
        tools.inside = lambda tool, to: guarded[tool].invoke({"to": to})
        self.agent = create_agent(
            ScriptedModel(lines=lines(plan)),
            made,
            checkpointer=saver,
            middleware=[InterlockMiddleware(il, name="tester", tools=tools.keywords)],
        )

    def run(self) -> None:
        begun = self.agent.get_state(THREAD).values
        self.agent.invoke(None if begun else {"messages": [{"role": "user", "content": "go"}]}, THREAD)

    def answers(self) -> Sequence[Told] | None:
        return answers_in(self.agent.get_state(THREAD).values.get("messages", []), self.plan)


class RegisteredAgent(MiddlewareAgent):
    """The same, registered: a worker goes on with it, and a middleware that catches everything swallows nothing."""

    def __init__(self, il: Interlock, plan: Plan, tools: ToolsUnderTest, saver: Any) -> None:
        super().__init__(il, plan, tools, saver)
        self.il = il
        register(il, self.agent)

    def run(self) -> None:
        if not self.agent.get_state(THREAD).values:
            self.agent.invoke({"messages": [{"role": "user", "content": "go"}]}, THREAD)
        self.il.worker().run_until_idle()


class LangGraphContract(AdapterContract):
    can_swallow = False

    @pytest.fixture(autouse=True)
    def _saver(self) -> None:
        self.saver = InMemorySaver()


class TestCreateAgent(LangGraphContract):
    def make_agent(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> AgentUnderTest:
        return MiddlewareAgent(il, plan, tools, self.saver)


class TestRegistered(LangGraphContract):
    def make_agent(self, il: Interlock, plan: Plan, tools: ToolsUnderTest) -> AgentUnderTest:
        return RegisteredAgent(il, plan, tools, self.saver)
