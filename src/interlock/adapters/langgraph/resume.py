# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
# What runs in a graph has no types of its own.
"""Graphs that are known by name: their calls are passes, and workers go on with their runs."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.pregel import Pregel
from langgraph.types import Command

from interlock.adapters.guard.frames import current, entered
from interlock.adapters.guard.guards import Guards
from interlock.adapters.langgraph.borders import border
from interlock.adapters.langgraph.graphs import REGISTRATION, agent_of, attach, configurable, only_async
from interlock.adapters.langgraph.intercept import Guarding
from interlock.adapters.langgraph.invocation import (
    Invocation,
    NodeFrame,
    foreign_in,
    invocation_of,
    storable,
    with_turn,
)
from interlock.adapters.langgraph.places import Spot, nested, run_name, turn_of
from interlock.adapters.langgraph.threads import Threads, Whose, standing_report, threads_of
from interlock.domain.action import arguments_bytes
from interlock.domain.errors import Diverged, RunError, SettingsError
from interlock.domain.run import PassEnd, PassReport, Run
from interlock.schema import encode_exception

G = TypeVar("G")

Opening = Callable[[], AbstractAsyncContextManager[Any]]
"""Opens a graph with what it needs (an asynchronous checkpointer, say), for as long as one run is gone on with."""


class Registration:
    """A graph that is known by name: what makes its calls passes, and what a worker calls."""

    def __init__(
        self, guards: Guards, name: str, graph: Any, opening: Opening | None, version: str, accepts: Sequence[str]
    ) -> None:
        self.guards = guards
        self.name = name
        self.graph = graph
        self.version = version
        self.accepts = frozenset({version, *accepts})
        self._opening = opening
        self.threads: Threads = threads_of(guards)

    # -- a worker goes on ---------------------------------------------------------------------------

    def resume(self, run: Run) -> Run:
        """Go on with a run of this graph in this thread, until it ends or pauses.

        Raises `SettingsError` `other_version` where the run was begun by a version that this one does not accept.
        """
        kept = cast("dict[str, Any]", json.loads(run.input or b"{}"))
        version = str(kept.get("version", ""))
        if version not in self.accepts:
            raise SettingsError(
                "other_version",
                f"run {run.id} was begun by version {version!r} of {self.name}, and this is {self.version!r}",
                "Start a worker with that version, or name it in accepts=.",
            )
        config: RunnableConfig = {"configurable": {**kept.get("configurable", {}), "thread_id": kept["thread"]}}
        if self._opening is not None or only_async(self.graph):
            _in_a_loop(lambda: self._resume_async(config))
        else:
            self.graph.invoke(None, config, durability="sync")
        return self.guards.runtime.run(run.id) or run

    async def _resume_async(self, config: RunnableConfig) -> None:
        if self._opening is None:
            await self.graph.ainvoke(None, config, durability="sync")
            return
        async with self._opening() as graph:
            await self.attach(graph).ainvoke(None, config, durability="sync")

    # -- a graph is called --------------------------------------------------------------------------

    def attach(self, graph: G) -> G:
        """Have this graph's calls be passes, and put a border around each of its nodes."""
        attach(graph, self)
        return graph

    def begin(self, graph: Any, input: Any, config: RunnableConfig | None) -> tuple[Any, Invocation | None]:
        """Enter the run of a call; the input as it is to be given on. No pass inside another graph."""
        merged = configurable(graph, config)
        thread = merged.get("thread_id")
        if thread is None or nested(config) or graph.checkpointer is None or isinstance(graph.checkpointer, bool):
            return input, None
        input, whose = self._whose(graph, input, config, str(thread), merged)
        if whose is None:
            return input, None
        pass_ = self.threads.enter(whose)
        return input, Invocation(pass_)

    def _whose(
        self, graph: Any, input: Any, config: RunnableConfig | None, thread: str, merged: Mapping[str, Any]
    ) -> tuple[Any, Whose | None]:
        kept = arguments_bytes(
            {"thread": thread, "version": self.version, "configurable": cast("Any", storable(merged))}
        )
        fresh = input is not None and not isinstance(input, Command)
        if fresh:
            input, turn = with_turn(input)
            run = run_name(self.name, thread, turn or uuid.uuid4().hex)
        elif merged.get("checkpoint_id"):
            messages = graph.get_state(config).values.get("messages", ())
            run = run_name(self.name, thread, turn_of(messages))
        else:
            found = self.guards.runtime.unended_run(self.name, thread)
            if found is None:
                return input, None
            run = found.id
        return input, Whose(run, self.name, thread, self.name, kept)

    def end(self, graph: Any, config: RunnableConfig | None, call: Invocation, error: BaseException | None) -> None:
        """Leave the run of a call: it waits, has finished, or failed."""
        pass_ = call.pass_
        report = standing_report(pass_)
        if report.end is PassEnd.BETWEEN:
            seen = frozenset(pass_.seen)
            if isinstance(error, Exception) and not isinstance(error, (Diverged, RunError)):
                failure = arguments_bytes(cast("Any", encode_exception(error)))
                report = PassReport(PassEnd.FAILED, failure=failure, seen=seen)
            else:
                # Broken off (Ctrl-C, a stream that nobody reads on), it can be gone on with.
                waits = error is not None or bool(call.foreign) or self._stands(graph, config)
                report = PassReport(PassEnd.WAITING if waits else PassEnd.FINISHED, seen=seen)
        self.threads.leave(pass_, report)
        if pass_.broken is not None:
            raise pass_.broken  # a pause that nobody decides: whoever called has to come again

    def _stands(self, graph: Any, config: RunnableConfig | None) -> bool:
        """Whether a graph with fixed stops has come to one: it ends its call there without a word."""
        if not (graph.interrupt_before_nodes or graph.interrupt_after_nodes):
            return False
        return bool(graph.get_state({"configurable": configurable(graph, config)}).next)

    @contextmanager
    def node(self, spot: Spot | None) -> Generator[None]:
        """Be in one node: its calls are matched among themselves, and no pause gets lost in it."""
        frame = current()
        if spot is None:
            yield
            return
        invocation = invocation_of(frame)
        if frame is None or invocation is None:
            with border(spot.task):
                yield
            return
        inner = NodeFrame(invocation, self.threads, spot, frame)
        with border(spot.task) as around, entered(inner):
            try:
                yield
            except GraphInterrupt as pause:
                invocation.foreign.extend(foreign_in(pause))
                raise
            closed = inner.scope.closed
            if closed is not None:
                around.note(closed)


def register(
    il: Guarding,
    graph: G | Opening,
    *,
    name: str = "",
    version: str = "",
    accepts: Sequence[str] = (),
) -> G:
    """Make a graph known by name, so that a worker goes on with its runs; returns it.

    From then on a call of the graph is one pass of its run, nothing that a node catches can lose a pause, and functions
    guarded with `il.tool` work in its nodes. Give it before the first call. `name` is that of its `InterlockMiddleware`
    where it has one. A worker goes on with a run only under the `version` that began it, or one that `accepts` names.

    Instead of a graph, a function that opens one may be given (an asynchronous context manager), for checkpointers that
    belong to an event loop. Raises `SettingsError`.
    """
    guards = il.guards
    if isinstance(graph, Pregel):
        found = cast("Pregel[Any, Any, Any, Any]", graph)
        called = name or agent_of(found, guards) or (found.name if found.name != "LangGraph" else "") or guards.agent
        if found.checkpointer is None or isinstance(found.checkpointer, bool):
            raise SettingsError(
                "no_checkpointer",
                f"the graph {called} has no checkpointer, so it could not be paused",
                "Compile it with checkpointer=….",
            )
        made = Registration(guards, called, graph, None, version, accepts)
        guards.resumes(called, made)
        return cast("G", made.attach(found))
    if not callable(graph) or not name:
        raise SettingsError(
            "not_a_graph",
            f"{graph!r:.100} is no compiled graph, or has no name",
            "Give a compiled graph, or a function that opens one and name=….",
        )
    guards.resumes(name, Registration(guards, name, None, cast("Opening", graph), version, accepts))
    return cast("G", graph)


def agents_in(module: Mapping[str, object], guards: Guards) -> Iterator[tuple[str, Any]]:
    """Compiled graphs in a module that have a middleware of this `Interlock` and are not registered, by agent."""
    for value in list(module.values()):
        if isinstance(value, Pregel) and REGISTRATION not in vars(cast("object", value)):
            found = cast("Pregel[Any, Any, Any, Any]", value)
            name = agent_of(found, guards)
            if name and found.checkpointer is not None and name not in guards.resumable:
                yield name, found


def _in_a_loop(make: Callable[[], Any]) -> None:
    """Run a coroutine to its end, in a thread of its own where this one has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(make())
        return
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(make())).result()
