"""From a framework's call to an action: the middleware of agents, and guarded tools for any graph."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol, cast

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from interlock.adapters.guard.guards import Guards
from interlock.adapters.guard.tool import Keywords, ReversibilityName
from interlock.adapters.langgraph.asking import answered, asking_why, in_their_place, repaired, unanswered, what_became
from interlock.adapters.langgraph.borders import border
from interlock.adapters.langgraph.calls import Calls
from interlock.adapters.langgraph.guarding import guard_of, guarded_copy
from interlock.adapters.langgraph.places import Spot, here, spot_of
from interlock.adapters.langgraph.telling import MARK
from interlock.adapters.langgraph.tools import GuardedTool, guarded_tool, keyed
from interlock.domain.errors import SettingsError

Declared = ReversibilityName | Mapping[str, Any]
"""What is said of a tool: its reversibility, or keywords as `il.tool` takes them."""

Answer = ToolMessage | Command[Any]
Handler = Callable[[ToolCallRequest], Answer]
AsyncHandler = Callable[[ToolCallRequest], Awaitable[Answer]]


class Guarding(Protocol):
    """An `Interlock`, as far as this adapter needs it."""

    @property
    def guards(self) -> Guards:
        """What it guards."""
        ...


class InterlockMiddleware(AgentMiddleware[Any, Any]):
    """Have an agent's tool calls decided before they run: `create_agent(…, middleware=[InterlockMiddleware(il, …)])`.

    `name` names the agent; its runs are recorded under it, and a worker that has registered a graph of that name goes
    on with them. `tools` says of each tool how far it can be taken back, or gives keywords as `il.tool` takes them;
    `default` is for tools that are not named there. What nobody declares is treated as irreversible.

    A held call pauses the graph; call the agent with `None` to go on once people have decided.
    """

    def __init__(
        self,
        il: Guarding,
        *,
        name: str = "",
        tools: Mapping[str, Declared] | None = None,
        default: Declared | None = None,
    ) -> None:
        super().__init__()
        self.tools = []
        self.guards = il.guards
        self.agent = name or il.guards.agent
        self.calls = Calls(il.guards, self.agent, self.agent)
        self._declared = {tool: as_keywords(tool, said) for tool, said in (tools or {}).items()}
        self._default = as_keywords("default", default)
        self._known: dict[str, tuple[BaseTool, GuardedTool, BaseTool]] = {}

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Answer calls that were left behind, show tools that ask why, and see a run end."""
        request, mended = self._before_model(request)
        response = handler(request)
        return self._after_model(request, response, mended)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """The same from asynchronous code."""
        request, mended = await asyncio.to_thread(self._before_model, request)
        response = await handler(request)
        if mended is None and _calls_tools(response):
            return self._after_model(request, response, mended)
        return await asyncio.to_thread(self._after_model, request, response, mended)

    def _before_model(self, request: Any) -> tuple[Any, list[Any] | None]:
        mended = None
        calls = answered(request.state.get("messages", ()))
        spot = here() if calls else None
        if spot is not None:
            self.calls.turns.went_on(spot, calls)
        if unanswered(request.state.get("messages", ())):
            spot = here()
            if spot is not None and spot.thread and spot.durable:
                self.calls.turns.supersede(spot)
                mended = repaired(request.state["messages"], partial(self._left_behind, spot))
                request = request.override(messages=repaired(request.messages, partial(self._left_behind, spot)))
        tools = asking_why(request.tools, lambda tool: self._guarded(tool)[1]) if request.tools else None
        return (request if tools is None else request.override(tools=tools)), mended

    def _left_behind(self, spot: Spot, turn: str, message: str, call: Mapping[str, Any]) -> ToolMessage:
        action = self.calls.turns.find(spot, turn, call["name"], f"{message}/{call['id']}")
        return what_became(self.guards.runtime, action, call["name"], call["id"])

    def _after_model(self, request: Any, response: Any, mended: list[Any] | None) -> Any:
        said = _calls_tools(response)
        if said is not None:
            self.calls.known.spoke(said, request.model, request.model_settings)
        else:
            spot = here()
            if spot is not None:
                self.calls.turns.ended(spot)
        if mended is None:
            return response
        for each in response.result:
            each.id = each.id or str(uuid.uuid4())
        update = {"messages": in_their_place([*mended, *response.result])}
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> Answer:
        """Propose the call; run it once people let it, or tell the model why it was not run."""
        found = self._tool(request)
        if found is None:
            return _unknown(request)
        calls, tool, copy = found
        config = cast("Any", request).runtime.config
        spot = spot_of(config)
        with border(spot.task if spot is not None else ""):
            proposed = calls.propose(tool, cast("Any", request.tool_call), config)
            if proposed.doing is None:
                return cast("Answer", proposed.answer)
            with calls.handing(proposed):
                answer = handler(request.override(tool=copy))
        if spot is not None and _ends_the_agent(spot, request, answer):
            calls.turns.ended(spot)
        return answer

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncHandler) -> Answer:
        """The same from asynchronous code."""
        found = self._tool(request)
        if found is None:
            return _unknown(request)
        calls, tool, copy = found
        config = cast("Any", request).runtime.config
        spot = spot_of(config)
        with border(spot.task if spot is not None else ""):
            proposed = await calls.propose_async(tool, cast("Any", request.tool_call), config)
            if proposed.doing is None:
                return cast("Answer", proposed.answer)
            with calls.handing(proposed):
                answer = await handler(request.override(tool=copy))
        if spot is not None and _ends_the_agent(spot, request, answer):
            await asyncio.to_thread(calls.turns.ended, spot)
        return answer

    def _tool(self, request: ToolCallRequest) -> tuple[Calls, GuardedTool, BaseTool] | None:
        """The guarded form of the tool that the model called; None where the agent has no such tool."""
        tool = request.tool
        if tool is None:
            return None
        guarded, copy = self._guarded(tool)[1:]
        return self.calls, guarded, copy

    def _guarded(self, tool: BaseTool) -> tuple[BaseTool, GuardedTool, BaseTool]:
        ours = guard_of(tool)
        if ours is not None:
            return tool, ours[1], tool
        known = self._known.get(tool.name)
        if known is None or known[0] is not tool:
            made = make_guarded(self.guards, tool, self._declared.get(tool.name, self._default))
            known = self._known[tool.name] = (tool, made, guarded_copy(self.calls, made))
        return known


def _calls_tools(response: Any) -> AIMessage | None:
    """What the model said, if it goes on with tools."""
    said = getattr(response, "result", ())
    return next((each for each in said if isinstance(each, AIMessage) and each.tool_calls), None)


def _ends_the_agent(spot: Spot, request: ToolCallRequest, answer: Answer) -> bool:
    """Whether the model is not asked again after this call, and no call stands beside it that could still wait."""
    direct = cast("BaseTool", request.tool).return_direct
    if not direct and not (isinstance(answer, Command) and answer.graph == Command.PARENT):
        return False
    said = next((each for each in reversed(spot.messages()) if isinstance(each, AIMessage)), None)
    return said is not None and len(said.tool_calls) == 1


def _unknown(request: ToolCallRequest) -> ToolMessage:
    """Fail closed: a tool that is only found further inside could not be guarded."""
    call = request.tool_call
    return ToolMessage(
        content=f"{call['name']} was not run: the agent has no tool of that name.",
        name=call["name"],
        tool_call_id=call["id"],
        status="error",
        additional_kwargs={MARK: {"refused": "unknown_tool", "action": ""}},
    )


def make_guarded(guards: Guards, tool: BaseTool, said: Keywords) -> GuardedTool:
    """Read a LangChain tool with what is said of it, and add it to what the `Interlock` guards.

    One that was made of a guarded function is that function's tool: its declaration counts, and one card is made.
    """
    inner = guards.stand_ins.tool_of(getattr(tool, "func", None) or getattr(tool, "coroutine", None))
    if inner is not None:
        if said:
            raise SettingsError(
                "declared_twice", f"{tool.name} is made of a guarded function, and declared once more", "Say it once."
            )
        field = "coroutine" if inner.is_async else "func"
        return guarded_tool(tool.model_copy(update={field: keyed(inner)}), {"name": tool.name}, inner)
    made = guarded_tool(tool, guards.keywords(tool.name, said))
    guards.take(made.sync)
    return made


def guard_tool(guards: Guards, tool: BaseTool, said: Keywords, workflow: str = "") -> BaseTool:
    """A guarded copy of a tool for any graph: `ToolNode`, a node of your own, another agent."""
    if guard_of(tool) is not None:
        return tool
    return guarded_copy(Calls(guards, guards.agent, workflow), make_guarded(guards, tool, said))


def as_keywords(tool: str, said: Declared | None) -> Keywords:
    """A declaration as keywords."""
    if said is None:
        return {}
    if isinstance(said, str):
        return {"reversibility": said}
    if not isinstance(cast("object", said), Mapping):
        raise SettingsError(
            "bad_declaration",
            f"{tool} is declared as {said!r}"[:200],
            'Give a reversibility such as "irreversible", or a dict of keywords.',
        )
    return cast("Keywords", dict(said))
