"""From a framework's call to an action: the middleware of agents, and guarded tools for any graph."""

from __future__ import annotations

import asyncio
import logging
import uuid
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping
from difflib import get_close_matches
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
from interlock.adapters.langgraph.borders import Border, border
from interlock.adapters.langgraph.calls import Calls
from interlock.adapters.langgraph.guarding import guard_of, guarded_copy
from interlock.adapters.langgraph.places import Spot, here, spot_of
from interlock.adapters.langgraph.telling import MARK
from interlock.adapters.langgraph.tools import GuardedTool, guarded_tool, keyed
from interlock.adapters.langgraph.underway import Proposed
from interlock.domain.errors import SettingsError

logger = logging.getLogger("interlock.langgraph")

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
        self.guards = guards_of(il)
        self.agent = _name(name) or self.guards.agent
        self.calls = Calls(self.guards, self.agent, self.agent)
        self._declared = _declarations(tools)
        self._compared = False
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
        if not self._compared:
            self._compared = True
            warn_of_misspelt(self.agent, self._declared, request.tools or ())
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
            _name_calls(response)
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
        tool, copy = found
        spot = spot_of(cast("Any", request).runtime.config)
        with border(spot.task if spot is not None else "") as around:
            proposed = self._propose(around, tool, request)
            if proposed.doing is None:
                return cast("Answer", proposed.answer)
            with self.calls.handing(proposed):
                answer = handler(request.override(tool=copy))
        if spot is not None and _ends_the_agent(spot, request, answer):
            self.calls.turns.ended(spot)
        return answer

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncHandler) -> Answer:
        """The same from asynchronous code."""
        found = self._tool(request)
        if found is None:
            return _unknown(request)
        tool, copy = found
        spot = spot_of(cast("Any", request).runtime.config)
        with border(spot.task if spot is not None else "") as around:
            proposed = await self._propose_async(around, tool, request)
            if proposed.doing is None:
                return cast("Answer", proposed.answer)
            with self.calls.handing(proposed):
                answer = await handler(request.override(tool=copy))
        if spot is not None and _ends_the_agent(spot, request, answer):
            await asyncio.to_thread(self.calls.turns.ended, spot)
        return answer

    def _propose(self, around: Border, tool: GuardedTool, request: ToolCallRequest) -> Proposed:  # noqa: ARG002
        return self.calls.propose(tool, cast("Any", request.tool_call), cast("Any", request).runtime.config)

    async def _propose_async(self, around: Border, tool: GuardedTool, request: ToolCallRequest) -> Proposed:  # noqa: ARG002
        config = cast("Any", request).runtime.config
        return await self.calls.propose_async(tool, cast("Any", request.tool_call), config)

    def _tool(self, request: ToolCallRequest) -> tuple[GuardedTool, BaseTool] | None:
        """The guarded form of the tool that the model called; None where the agent has no such tool."""
        return None if request.tool is None else self._guarded(request.tool)[1:]

    def _said_of(self, tool: BaseTool) -> Keywords:
        """What is said of a tool where the agent is made."""
        return self._declared.get(tool.name, self._default)

    def _guarded(self, tool: BaseTool) -> tuple[BaseTool, GuardedTool, BaseTool]:
        ours = guard_of(tool)
        if ours is not None:
            return tool, ours[1], tool
        known = self._known.get(tool.name)
        if known is None or known[0] is not tool:
            made = make_guarded(self.guards, tool, self._said_of(tool))
            known = self._known[tool.name] = (tool, made, guarded_copy(self.calls, made))
        return known


def _calls_tools(response: Any) -> AIMessage | None:
    """What the model said, if it goes on with tools."""
    said = getattr(response, "result", ())
    return next((each for each in said if isinstance(each, AIMessage) and each.tool_calls), None)


def _name_calls(response: Any) -> None:
    """Give an id to calls of a model that gave them none: no answer could be given to them otherwise."""
    for each in response.result:
        for call in each.tool_calls if isinstance(each, AIMessage) else ():
            call["id"] = call["id"] or f"call_{uuid.uuid4().hex}"


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


def guards_of(il: Guarding) -> Guards:
    """What an `Interlock` guards. Raises `SettingsError` for what is none."""
    found = cast("object", getattr(il, "guards", None))
    if not isinstance(found, Guards):
        raise SettingsError(
            "not_an_interlock",
            f"{il!r:.100} is no Interlock",
            "Give the Interlock first, as in InterlockMiddleware(il, …) and register(il, graph).",
        )
    return found


def _name(given: object) -> str:
    if not isinstance(given, str) or given.encode("utf-8", "replace").decode() != given:
        raise SettingsError(
            "bad_name", f"name={given!a:.100} is no name for an agent", "Give a text without halves of characters."
        )
    return given


def _declarations(tools: Mapping[str, Declared] | None) -> dict[str, Keywords]:
    given = cast("object", {} if tools is None else tools)
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in cast("Mapping[Any, Any]", given)):
        raise SettingsError(
            "bad_declaration",
            f"tools={given!r:.100} does not say of each tool by its name what it is",
            'Give a dict such as {"send": "irreversible"}.',
        )
    return {tool: as_keywords(tool, said) for tool, said in cast("Mapping[str, Declared]", given).items()}


def warn_of_misspelt(agent: str, declared: Iterable[str], tools: Iterable[Any]) -> None:
    """Warn of names that are declared, that no tool has, and that are nearly those of a tool which is not declared.

    Other names may be those of a sub-agent's tools, or of tools that are there only at times.
    """
    names = {
        str(cast("dict[str, Any]", each).get("name", "") if isinstance(each, dict) else getattr(each, "name", ""))
        for each in tools
    }
    undeclared = names - set(declared)
    for name in sorted(set(declared) - names):
        near = get_close_matches(name, undeclared, 1)
        if near:
            said = f"{agent} declares a tool {name}, has none of that name, and says nothing of its tool {near[0]}"
            logger.warning("%s", said)
            warnings.warn(f"{said}: is it misspelt? What is declared counts for nothing so far.", stacklevel=2)


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
