# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportPrivateUsage=false
# LangGraph does not type the inside of a compiled graph.
"""What registration does to a compiled graph: a border around each node, and every call one pass of its run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from interlock.adapters.guard.frames import pop, push
from interlock.adapters.guard.guards import Guards
from interlock.adapters.langgraph.borders import border_of
from interlock.adapters.langgraph.intercept import InterlockMiddleware
from interlock.adapters.langgraph.invocation import Invocation, RootFrame
from interlock.adapters.langgraph.places import Spot, spot_of
from interlock.domain.errors import Interrupted

REGISTRATION = "__interlock_registration__"

Graph = Pregel[Any, Any, Any, Any]


class Registered(Protocol):
    """Who is told of a graph's calls and nodes."""

    def begin(
        self, graph: Any, input: Any, config: RunnableConfig | None, loop: asyncio.AbstractEventLoop | None = None
    ) -> tuple[Any, Invocation | None]:
        """A call begins; answers the input to go on with, and the call's pass if it is one.

        `loop` is that of an asynchronous call; this is then called in a thread beside it.
        """
        ...

    def end(self, graph: Any, config: RunnableConfig | None, call: Invocation, error: BaseException | None) -> None:
        """A call ended, by an error or in good order."""
        ...

    def node(self, spot: Spot | None) -> AbstractContextManager[None]:
        """One node runs within."""
        ...


class Bordered(Runnable[Any, Any]):
    """A node's own work, inside a border."""

    def __init__(self, registered: Registered, bound: Runnable[Any, Any]) -> None:
        self.registered = registered
        self.bound = bound
        self.name = bound.get_name()

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node."""
        with self.registered.node(spot_of(config)):
            return self.bound.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the node from asynchronous code."""
        with self.registered.node(spot_of(config)):
            return await self.bound.ainvoke(input, config, **kwargs)


def attach(graph: Any, registered: Registered) -> None:
    """Have a graph's calls be passes, and put a border around each of its nodes and its subgraphs' nodes."""
    _border_nodes(graph, registered, set())
    kind = type(graph)
    if kind not in _kinds.values():
        made = _kinds.get(kind)
        if made is None:
            body = {"__module__": kind.__module__, "copy": _copy, "stream": _stream, "astream": _astream}
            made = _kinds[kind] = type(kind.__name__, (kind,), body)
        graph.__class__ = made
    vars(graph)[REGISTRATION] = registered


def _border_nodes(graph: Any, registered: Registered, seen: set[int]) -> None:
    if id(graph) in seen:
        return
    seen.add(id(graph))
    for node in graph.nodes.values():
        for inner in node.subgraphs:
            if isinstance(inner, Pregel):
                _border_nodes(inner, registered, seen)
        if isinstance(node.bound, ToolNode):
            _keep_siblings(node.bound)
        if not isinstance(node.bound, (Bordered, Pregel)):
            node.bound = Bordered(registered, node.bound)
            vars(node).pop("node", None)  # it is cached, with the bare work in it


def _keep_siblings(tools: ToolNode) -> None:
    """Have one call's pause not cancel the calls beside it: the border makes one pause of all of them at the end."""
    outer, outer_async = tools._wrap_tool_call, tools._awrap_tool_call

    def one(request: Any, handler: Any) -> Any:
        try:
            return handler(request) if outer is None else outer(request, handler)
        except Interrupted as pause:
            return _paused(request, pause)

    async def one_async(request: Any, handler: Any) -> Any:
        try:
            return await (handler(request) if outer_async is None else outer_async(request, handler))
        except Interrupted as pause:
            return _paused(request, pause)

    tools._wrap_tool_call = one
    if outer_async is not None or outer is None:  # else LangGraph uses the synchronous one for both
        tools._awrap_tool_call = one_async


def _paused(request: Any, pause: Interrupted) -> ToolMessage:
    """What stands in for an answer that nobody will see: the border raises the pause."""
    spot = spot_of(request.runtime.config)
    around = border_of(spot.task) if spot is not None else None
    if around is None:
        raise pause
    around.note(pause)
    return ToolMessage(str(pause), name=request.tool_call["name"], tool_call_id=request.tool_call["id"])


def bare(node: Any) -> Any:
    """A node's work without its border."""
    return node.bound.bound if isinstance(node.bound, Bordered) else node.bound


def agent_of(graph: Any, guards: Guards) -> str:
    """The name under which a middleware of ours speaks in this graph; "" where none does."""
    seen: set[int] = set()
    for node in graph.nodes.values():
        work = bare(node)
        for part in ("func", "afunc", "_wrap_tool_call", "_awrap_tool_call"):
            found = _middleware_in(getattr(work, part, None), guards, seen, DEEPEST)
            if found is not None:
                return found.agent
    return ""


DEEPEST = 12
"""So many functions around one another are looked through for a middleware of ours: LangChain wraps one in the next."""


def _middleware_in(part: Any, guards: Guards, seen: set[int], depth: int) -> InterlockMiddleware | None:
    if isinstance(part, InterlockMiddleware):
        return part if part.guards is guards else None
    if part is None or id(part) in seen or not depth:
        return None
    seen.add(id(part))
    inside: list[Any] = []
    if isinstance(part, (list, tuple)):
        inside = list(part)
    elif callable(part):
        cells = list(getattr(part, "__closure__", None) or ())
        inside = [getattr(part, "__self__", None), getattr(part, "__wrapped__", None), getattr(part, "func", None)]
        inside += [cell.cell_contents for cell in cells if _filled(cell)]
    return next((found for each in inside if (found := _middleware_in(each, guards, seen, depth - 1))), None)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def configurable(graph: Any, config: RunnableConfig | None) -> dict[str, Any]:
    """What a call is configured with: the graph's own, and the caller's."""
    own = cast("Mapping[str, Any]", (graph.config or {}).get("configurable") or {})
    return {**own, **((config or {}).get("configurable") or {})}


# -- what the methods of a registered graph are ---------------------------------------------------------

_kinds: dict[type, type] = {}


def _bare_kind(graph: Any) -> Any:
    return type(graph).__bases__[0]


def _kept_at_once(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a call with `durability="sync"`, whatever was asked for.

    A message of the model must be kept before a tool acts on it. Otherwise a crash has the model speak anew, and what
    it says then is another call, though the first has had its effect.
    """
    return {**{name: value for name, value in options.items() if name != "checkpoint_during"}, "durability": "sync"}


def _copy(self: Any, update: dict[str, Any] | None = None) -> Any:
    """Copy the graph; the copy is registered like what it was made of."""
    registered = vars(self)[REGISTRATION]
    parts = {key: value for key, value in vars(self).items() if key not in (REGISTRATION, "__orig_class__")}
    made = type(self)(**{**parts, **(update or {})})
    vars(made)[REGISTRATION] = registered
    return made


def _stream(self: Any, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
    """Run the graph as one pass of its run."""
    registered: Registered = vars(self)[REGISTRATION]
    input, call = registered.begin(self, input, config)
    if call is not None:
        kwargs = _kept_at_once(kwargs)
    chunks = _bare_kind(self).stream(self, input, config, **kwargs)
    if call is None:
        yield from chunks
        return
    frame, error = RootFrame(call), None
    try:
        while True:
            token = push(frame)  # only while the graph works: what takes its chunks is not inside the run
            try:
                chunk = next(chunks)
            except StopIteration:
                return
            finally:
                pop(token)
            yield chunk
    except BaseException as raised:
        error = raised
        raise
    finally:
        try:
            chunks.close()
        finally:
            registered.end(self, config, call, error)


async def _astream(self: Any, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
    """Run the graph as one pass of its run."""
    registered: Registered = vars(self)[REGISTRATION]
    input, call = await asyncio.to_thread(registered.begin, self, input, config, asyncio.get_running_loop())
    if call is not None:
        kwargs = _kept_at_once(kwargs)
    chunks = _bare_kind(self).astream(self, input, config, **kwargs)
    if call is None:
        async for chunk in chunks:
            yield chunk
        return
    frame, error = RootFrame(call), None
    try:
        while True:
            token = push(frame)
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            finally:
                pop(token)
            yield chunk
    except BaseException as raised:
        error = raised
        raise
    finally:
        try:
            await chunks.aclose()
        finally:
            await asyncio.to_thread(registered.end, self, config, call, error)
