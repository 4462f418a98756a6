"""Agents under test: the same plan in every way in which people build graphs."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from tests.langgraph.scripted import ScriptedModel, calls, says

from interlock import Interlock
from interlock.langgraph import HumanInTheLoopMiddleware, InterlockMiddleware, register
from interlock.testing.adapter_plan import Plan, Told, ToolsUnderTest

THREAD: Any = {"configurable": {"thread_id": "job-1"}}
GO: Any = {"messages": [{"role": "user", "content": "go"}]}


@wrap_tool_call
def swallows_everything(request: Any, handler: Any) -> Any:
    """A middleware that turns whatever happens into a message; it stands outside ours."""
    try:
        return handler(request)
    except Exception as error:  # noqa: BLE001 - what such code does
        return ToolMessage(repr(error), name=request.tool_call["name"], tool_call_id=request.tool_call["id"])


@wrap_tool_call
async def swallows_everything_later(request: Any, handler: Any) -> Any:
    """The same for asynchronous agents."""
    try:
        return await handler(request)
    except Exception as error:  # noqa: BLE001 - what such code does
        return ToolMessage(repr(error), name=request.tool_call["name"], tool_call_id=request.tool_call["id"])


def lines(plan: Plan) -> list[AIMessage]:
    """What the model says."""
    return [*(calls(*((call.tool, {"to": call.to}) for call in turn)) for turn in plan.turns), says()]


def told_in(messages: Sequence[Any]) -> list[Told] | None:
    """What the agent was told, once it has ended."""
    if not messages or not isinstance(messages[-1], AIMessage) or messages[-1].tool_calls:
        return None
    return [
        Told(str(each.content), each.additional_kwargs.get("interlock", {}).get("refused", ""))
        for each in messages
        if isinstance(each, ToolMessage)
    ]


class GraphUnderTest:
    """A graph, called by the application itself: with its input at first, then with None."""

    asynchronous = False

    def __init__(self, il: Interlock, plan: Plan, tools: ToolsUnderTest, saver: Any) -> None:
        self.il, self.plan, self.tools, self.saver = il, plan, tools, saver
        self.bare = self.make_tools()
        self.guarded = {each.name: il.guard(each, **tools.keywords[each.name]) for each in self.bare}
        self.say_how_tools_call_tools()
        self.graph: Any = self.build()

    def make_tools(self) -> list[BaseTool]:
        functions = self.tools.async_functions if self.asynchronous else self.tools.functions
        field = "coroutine" if self.asynchronous else "func"
        return [StructuredTool.from_function(**{field: fn}, name=name) for name, fn in functions.items()]

    def say_how_tools_call_tools(self) -> None:
        if self.asynchronous:
            self.tools.inside = lambda tool, to: self.guarded[tool].ainvoke({"to": to})
        else:
            self.tools.inside = lambda tool, to: self.guarded[tool].invoke({"to": to})

    def build(self) -> Any:
        raise NotImplementedError

    def model(self) -> ScriptedModel:
        return ScriptedModel(lines=lines(self.plan))

    def messages(self) -> list[Any]:
        return self.graph.get_state(THREAD).values.get("messages", [])

    def run(self) -> None:
        given = None if self.graph.get_state(THREAD).values else GO
        if self.asynchronous:
            asyncio.run(self.graph.ainvoke(given, THREAD))
        else:
            self.graph.invoke(given, THREAD)

    def answers(self) -> Sequence[Told] | None:
        return told_in(self.messages())


class ByWorker(GraphUnderTest):
    """A graph that is registered: the application calls it once, then a worker goes on."""

    def build(self) -> Any:
        graph: Any = super().build()
        return register(self.il, graph, name="tester")

    def run(self) -> None:
        if not self.graph.get_state(THREAD).values:
            super().run()
        self.il.worker().run_until_idle()


class WithMiddleware(GraphUnderTest):
    """`create_agent` with the middleware."""

    def build(self) -> Any:
        ours = InterlockMiddleware(self.il, name="tester", tools=self.tools.keywords)
        swallows = swallows_everything_later if self.asynchronous else swallows_everything
        return create_agent(
            self.model(),
            self.bare,
            checkpointer=self.saver,
            middleware=[swallows, ours] if self.plan.swallows else [ours],
        )


class WithMiddlewareByWorker(ByWorker, WithMiddleware):
    """The same, registered."""


class WithDropIn(GraphUnderTest):
    """`create_agent` with LangChain's middleware of ours; people decide in Interlock."""

    def build(self) -> Any:
        ours = HumanInTheLoopMiddleware({"send": True}, il=self.il, name="tester", tools=self.tools.keywords)
        swallows = [swallows_everything] if self.plan.swallows else []
        return create_agent(self.model(), self.bare, checkpointer=self.saver, middleware=[*swallows, ours])


class WithDropInByWorker(ByWorker, WithDropIn):
    """The same, registered."""


class AsyncMiddleware(WithMiddleware):
    """An asynchronous agent."""

    asynchronous = True


class AsyncMiddlewareByWorker(ByWorker, WithMiddleware):
    """The same, registered: the worker brings a loop of its own."""

    asynchronous = True


def hand_written(model: Any, tools: Sequence[BaseTool], swallows: bool = False) -> Any:
    """A model node and a `ToolNode`, as people write them; uncompiled."""

    def quiet(state: MessagesState) -> Any:
        """A node that catches whatever its tools raise."""
        try:
            return ToolNode(list(tools)).invoke(state)
        except Exception as error:  # noqa: BLE001 - what such code does
            last = state["messages"][-1]
            return {"messages": [ToolMessage(repr(error), tool_call_id=each["id"]) for each in last.tool_calls]}

    def think(state: MessagesState) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    def route(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", quiet if swallows else ToolNode(list(tools)))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", route, ["tools", END])
    builder.add_edge("tools", "think")
    return builder


class HandWritten(GraphUnderTest):
    """A hand-written graph with guarded tools in a bare `ToolNode`."""

    def build(self) -> Any:
        return hand_written(self.model(), list(self.guarded.values()), self.plan.swallows).compile(
            checkpointer=self.saver
        )


class HandWrittenByWorker(ByWorker, HandWritten):
    """The same, registered."""


class AsSubgraph(GraphUnderTest):
    """An agent that is a node of another graph."""

    def build(self) -> Any:
        ours = InterlockMiddleware(self.il, name="tester", tools=self.tools.keywords)
        swallows = [swallows_everything] if self.plan.swallows else []
        agent = create_agent(self.model(), self.bare, middleware=[*swallows, ours])
        builder = StateGraph(MessagesState)
        builder.add_node("agent", agent)
        builder.add_edge(START, "agent")
        builder.add_edge("agent", END)
        return builder.compile(checkpointer=self.saver)

    def messages(self) -> list[Any]:
        state = self.graph.get_state(THREAD)
        return [] if state.next else state.values.get("messages", [])


class AsSubgraphByWorker(ByWorker, AsSubgraph):
    """The same, registered."""


class Functional(GraphUnderTest):
    """The functional API: an entrypoint that calls the model and the tools as tasks."""

    def build(self) -> Any:
        model, guarded, swallows = self.model(), self.guarded, self.plan.swallows

        @task
        def ask(messages: list[Any]) -> Any:
            return model.invoke(messages)

        @task
        def call(made: Any) -> Any:
            try:
                return guarded[made["name"]].invoke({**made, "type": "tool_call"})
            except Exception as error:
                if not swallows:
                    raise
                return ToolMessage(repr(error), tool_call_id=made["id"])

        @entrypoint(checkpointer=self.saver)
        def agent(messages: list[Any]) -> list[Any]:
            said = ask(messages).result()
            while said.tool_calls:
                made = [call(each) for each in said.tool_calls]
                messages = [*messages, said, *(each.result() for each in made)]
                said = ask(messages).result()
            return [*messages, said]

        return agent

    def messages(self) -> list[Any]:
        values = self.graph.get_state(THREAD).values
        return values if isinstance(values, list) else []

    def run(self) -> None:
        begun = self.graph.checkpointer.get_tuple(THREAD) is not None
        self.graph.invoke(None if begun else [{"role": "user", "content": "go"}], THREAD)


class FunctionalByWorker(ByWorker, Functional):
    """The same, registered."""

    def run(self) -> None:
        if self.graph.checkpointer.get_tuple(THREAD) is None:
            Functional.run(self)
        self.il.worker().run_until_idle()
