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
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt, is_invalid_resume
from langgraph.pregel import Pregel
from langgraph.types import Command

from interlock.adapters.guard.frames import current, entered
from interlock.adapters.guard.guards import Guards
from interlock.adapters.guard.places import Pass
from interlock.adapters.guard.tool import Duration, duration
from interlock.adapters.langgraph.borders import border
from interlock.adapters.langgraph.edited import edited, has_nodes_calls
from interlock.adapters.langgraph.graphs import REGISTRATION, agent_of, attach, configurable
from interlock.adapters.langgraph.intercept import Guarding, guards_of
from interlock.adapters.langgraph.invocation import (
    Invocation,
    NodeFrame,
    invocation_of,
    with_turn,
)
from interlock.adapters.langgraph.observing import Observer, Watching
from interlock.adapters.langgraph.places import Spot, nested, run_name, turn_of
from interlock.adapters.langgraph.threads import Threads, Whose, kept_input, standing_report, threads_of
from interlock.domain.action import ActionState, arguments_bytes
from interlock.domain.errors import Diverged, RunError, SettingsError
from interlock.domain.run import PassEnd, PassReport, Run
from interlock.schema import encode_exception

G = TypeVar("G")

Opening = Callable[[], AbstractAsyncContextManager[Any]]
"""Opens a graph with what it needs (an asynchronous checkpointer, say), for as long as one run is gone on with."""


WAITED_FOR = (ActionState.HELD, ActionState.CLEARED, ActionState.IN_DOUBT)
"""States of actions that a run may be waiting for."""


_handed_on: ContextVar[list[Pass] | None] = ContextVar("interlock_handed_on", default=None)
"""The pass that a worker has entered for the call of the graph that it makes next; that call takes it out."""


class Registration:
    """A graph that is known by name: what makes its calls passes, and what a worker calls."""

    def __init__(
        self,
        guards: Guards,
        name: str,
        graph: Any,
        opening: Opening | None,
        version: str,
        accepts: Sequence[str],
        watching: Watching,
    ) -> None:
        self.guards = guards
        self.name = name
        self.graph = graph
        self.version = version
        self.accepts = frozenset({version, *accepts})
        self._opening = opening
        self.threads: Threads = threads_of(guards)
        self.observer = Observer(guards, self.threads, watching)

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
        config: RunnableConfig = {"configurable": {**kept.get("configurable", {}), "thread_id": run.thread}}
        pass_ = self.threads.enter(Whose(run.id, self.name, run.thread, self.name, run.input), object())
        token = _handed_on.set([pass_])
        try:
            if self._opening is not None or kept.get("asynchronous"):
                _in_a_loop(copy_context(), lambda: self._resume_async(config))
            else:
                self.graph.invoke(None, config, durability="sync")
        except BaseException:
            self.threads.leave(pass_, PassReport(PassEnd.WAITING, seen=frozenset(pass_.seen), broken=True))
            raise
        finally:
            _handed_on.reset(token)
        self.threads.leave(pass_)
        return self.guards.runtime.run(run.id) or run

    async def _resume_async(self, config: RunnableConfig) -> None:
        async with AsyncExitStack() as stack:
            graph: Any = self.graph
            if self._opening is not None:
                graph = self.attach(await stack.enter_async_context(self._opening()))
            await graph.ainvoke(None, config, durability="sync")

    def _given(self, graph: _Graph, call: Invocation, input: Any, config: RunnableConfig | None, worker: bool) -> Any:
        """What a graph is given to go on with: answers to its own pauses by their ids; what goes into its state is put.

        Only `None` is made into more. An application that gives a `Command` says itself how the graph goes on.
        """
        pass_ = call.pass_
        observed = self.observer.has_any(pass_) and input is None
        if not observed and not has_nodes_calls(pass_):
            return input
        stand = graph.state(config)
        call.edited = edited(stand, graph.state)
        if not observed:
            return input
        answers = self.observer.answers(pass_, stand.interrupts)
        if answers:
            return Command(resume=answers)
        if not stand.interrupts and graph.has_stops:
            told = self._told_at_stop(pass_, stand, worker)
            if told:
                graph.update(config, {self.observer.watching.decision_key: told})
        return None

    def _told_at_stop(self, pass_: Pass, stand: Any, worker: bool) -> Mapping[str, Any]:
        """What people said where the graph stands at a fixed stop. Without a key to put it under, a no ends the run.

        Where nobody has answered, a worker does not go on; an application that does takes the stop as its own.
        """
        checkpoint = stand.config["configurable"].get("checkpoint_id", "")
        for node in stand.next:
            told_at = self.observer.stop if worker else self.observer.stop_answer
            told = told_at(pass_, node, checkpoint, stand.values)
            if told is None and not worker:
                continue
            if told is None:
                raise RunError("still_waiting", f"{self.name} stands before {node}, and nobody has answered")
            if self.observer.watching.decision_key:
                return {key: each for key, each in told.items() if key in ("decision", "reason", "modified_action")}
            if told["decision"] != "approve":
                self.guards.gate.cancel(pass_.run_id, str(told.get("by", "")), str(told.get("reason", ""))).result()
                raise RunError("cancelled", f"a reviewer said no before {node}")
        return {}

    # -- a graph is called --------------------------------------------------------------------------

    def attach(self, graph: G) -> G:
        """Have this graph's calls be passes, and put a border around each of its nodes."""
        attach(graph, self)
        return graph

    def begin(
        self, graph: Any, input: Any, config: RunnableConfig | None, loop: asyncio.AbstractEventLoop | None = None
    ) -> tuple[Any, Invocation | None]:
        """Enter the run of a call; the input as it is to be given on. No pass inside another graph."""
        merged = configurable(graph, config)
        thread = merged.get("thread_id")
        if thread is None or nested(config) or graph.checkpointer is None or isinstance(graph.checkpointer, bool):
            return input, None
        fresh = input is not None and not isinstance(input, Command)
        stands = _Graph(graph, loop)
        input, whose = self._whose(stands, input, config, merged)
        if whose is None:
            return input, None
        handed = _handed_on.get()
        worker = bool(handed) and handed[-1].run_id == whose.run
        call = Invocation(self.threads.join(handed.pop()) if worker and handed else self.threads.enter(whose, object()))
        try:
            return (input if fresh else self._given(stands, call, input, config, worker)), call
        except BaseException:
            self.threads.leave(call.pass_, PassReport(PassEnd.WAITING, seen=_waited_for(call.pass_)))
            raise

    def _whose(
        self, graph: _Graph, input: Any, config: RunnableConfig | None, merged: Mapping[str, Any]
    ) -> tuple[Any, Whose | None]:
        thread = str(merged["thread_id"])
        kept = kept_input(thread, merged, asynchronous=graph.loop is not None, version=self.version)
        fresh = input is not None and not isinstance(input, Command)
        if fresh:
            input, turn = with_turn(input)
            run = run_name(self.name, thread, turn or uuid.uuid4().hex)
        elif merged.get("checkpoint_id"):
            messages = graph.state(config).values.get("messages", ())
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
                report = _turned_away(call, error) or PassReport(PassEnd.FAILED, failure=failure, seen=seen)
            elif error is None:
                report = self._observe(graph, config, call) or PassReport(PassEnd.FINISHED, seen=seen)
            else:
                # Broken off (Ctrl-C, a stream that nobody reads on), it can be gone on with.
                report = PassReport(PassEnd.WAITING, seen=seen)
        self.threads.leave(pass_, report)
        if pass_.broken is not None:
            raise pass_.broken  # a pause that nobody decides: whoever called has to come again

    def _observe(self, graph: Any, config: RunnableConfig | None, call: Invocation) -> PassReport | None:
        """Have people asked what the graph waits for by itself; None where it waits for nothing."""
        pass_ = call.pass_
        for node, interrupt in call.foreign.values():
            self.observer.report(pass_, node, interrupt)
        stops = graph.interrupt_before_nodes or graph.interrupt_after_nodes
        if stops and not call.foreign:
            stand = graph.get_state({"configurable": configurable(graph, config)})
            checkpoint = stand.config["configurable"].get("checkpoint_id", "")
            for node in stand.next:
                self.observer.stop(pass_, node, checkpoint, stand.values)
        if call.foreign and not pass_.parked:
            # Answered meanwhile: the graph stands there until somebody hands that over.
            return PassReport(PassEnd.WAITING, seen=frozenset(pass_.seen), broken=True)
        return standing_report(pass_) if pass_.parked else None

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
        spot.count_anew()
        invocation.entered = True
        self.threads.known_as(invocation.pass_, spot.call)
        inner = NodeFrame(invocation, self.threads, spot, frame)
        with border(spot.task) as around, entered(inner):
            try:
                yield
            except GraphInterrupt as pause:
                invocation.met(spot.path.rpartition("|")[2], pause)
                raise
            invocation.pass_.made.take(inner.scope.path)  # it came to its end, and is not executed again
            closed = inner.scope.closed
            if closed is not None:
                around.note(closed)


class _Graph:
    """A graph as its state is read and written before it is called: from a thread beside the `loop` it is called in."""

    def __init__(self, graph: Any, loop: asyncio.AbstractEventLoop | None) -> None:
        self.graph = graph
        self.loop = loop

    @property
    def has_stops(self) -> bool:
        """Whether it stops before or after some of its nodes."""
        return bool(self.graph.interrupt_before_nodes or self.graph.interrupt_after_nodes)

    def state(self, config: RunnableConfig | None) -> Any:
        """Where it stands, the graphs inside it as well."""
        if self.loop is None:
            return self.graph.get_state(config, subgraphs=True)
        return asyncio.run_coroutine_threadsafe(self.graph.aget_state(config, subgraphs=True), self.loop).result()

    def update(self, config: RunnableConfig | None, values: Mapping[str, Any]) -> None:
        """Put something into its state."""
        if self.loop is None:
            self.graph.update_state(config, values)
        else:
            asyncio.run_coroutine_threadsafe(self.graph.aupdate_state(config, values), self.loop).result()


def _waited_for(pass_: Pass) -> frozenset[str]:
    return frozenset(past.call_key for past in pass_.grant.calls if past.state in WAITED_FOR)


def _turned_away(call: Invocation, error: Exception) -> PassReport | None:
    """A call that the graph would not take, or an answer that did not count, of a run that waited: it waits on.

    None for any other.
    """
    waiting = _waited_for(call.pass_)
    unanswered = is_invalid_resume(error)  # somebody else may have decided meanwhile: a worker looks once more
    taken = call.entered and not unanswered
    return None if taken or not waiting else PassReport(PassEnd.WAITING, seen=waiting, broken=unanswered)


def register(
    il: Guarding,
    graph: G | Opening,
    *,
    name: str = "",
    version: str = "",
    accepts: Sequence[str] = (),
    expires_in: Duration | None = None,
    on_expiry: str = "reject",
    decision_key: str = "",
) -> G:
    """Make a graph known by name, so that a worker goes on with its runs; returns it.

    From then on a call of the graph is one pass of its run, nothing that a node catches can lose a pause, and functions
    guarded with `il.tool` work in its nodes. Give it before the first call. `name` is that of its `InterlockMiddleware`
    where it has one. A worker goes on with a run only under the `version` that began it, or one that `accepts` names.

    Pauses that the graph makes by itself are shown to people and answered, as observed ones: a node that calls
    `interrupt()` gets the answer in its own form, and one that nobody answers within `expires_in` (a day) gets
    `on_expiry`. At a fixed stop (`interrupt_before`) the answer is put into the state under `decision_key`.

    Instead of a graph, a function that opens one may be given (an asynchronous context manager), for checkpointers that
    belong to an event loop. Raises `SettingsError`.
    """
    guards = guards_of(il)
    watching = Watching(duration("register", "expires_in", {"expires_in": expires_in}), on_expiry, decision_key)
    if isinstance(graph, Pregel):
        found = cast("Pregel[Any, Any, Any, Any]", graph)
        called = name or agent_of(found, guards) or (found.name if found.name != "LangGraph" else "") or guards.agent
        if found.checkpointer is None or isinstance(found.checkpointer, bool):
            raise SettingsError(
                "no_checkpointer",
                f"the graph {called} has no checkpointer, so it could not be paused",
                "Compile it with checkpointer=….",
            )
        made = Registration(guards, called, graph, None, version, accepts, watching)
        guards.resumes(called, made)
        return cast("G", made.attach(found))
    if not callable(graph) or not name:
        raise SettingsError(
            "not_a_graph",
            f"{graph!r:.100} is no compiled graph, or has no name",
            "Give a compiled graph, or a function that opens one and name=….",
        )
    guards.resumes(name, Registration(guards, name, None, cast("Opening", graph), version, accepts, watching))
    return cast("G", graph)


def agents_in(module: Mapping[str, object], guards: Guards) -> Iterator[tuple[str, Any]]:
    """Compiled graphs in a module that have a middleware of this `Interlock` and are not registered, by agent."""
    for value in list(module.values()):
        if isinstance(value, Pregel) and REGISTRATION not in vars(cast("object", value)):
            found = cast("Pregel[Any, Any, Any, Any]", value)
            name = agent_of(found, guards)
            if name and found.checkpointer is not None and name not in guards.resumable:
                yield name, found


def _in_a_loop(context: Context, make: Callable[[], Any]) -> None:
    """Run a coroutine to its end, in a thread of its own where this one has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(make())
        return
    with ThreadPoolExecutor(1) as pool:
        pool.submit(context.run, lambda: asyncio.run(make())).result()
