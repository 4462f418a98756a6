# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
# What runs in a graph has no types of its own.
"""What a guarded LangChain tool does when it is called, in any graph."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, cast
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt

from interlock.adapters.guard.drivers import Flow
from interlock.adapters.guard.frames import Frame, current, entered, running_task
from interlock.adapters.guard.guards import Guards
from interlock.adapters.guard.intercept import Held, Prepared
from interlock.adapters.guard.outcomes import ending_error, result_of
from interlock.adapters.guard.rationale import saying, take
from interlock.adapters.guard.tool import Tool, encode
from interlock.adapters.langgraph.borders import cross, executing
from interlock.adapters.langgraph.knowing import Known
from interlock.adapters.langgraph.places import (
    Spot,
    here,
    named_call,
    named_scope,
    require_pausable,
    spot_of,
)
from interlock.adapters.langgraph.telling import message_of, refusal, told
from interlock.adapters.langgraph.threads import Threads, threads_of
from interlock.adapters.langgraph.tools import Bubbled, GuardedTool, ToolCall, called, calling, id_of, read_call, unpack
from interlock.adapters.langgraph.turns import Turns
from interlock.adapters.langgraph.underway import Doing, Proposed
from interlock.domain.action import ActionState, Rationale
from interlock.domain.errors import CallError, InterlockError, Interrupted, Refused, ResultNotStored, RolledBack
from interlock.ports.gate import Standing

TELLABLE = (Refused, ResultNotStored, RolledBack)
"""What a model is told instead of a result; everything else is the program's business."""

MAY_RUN = (ActionState.CLEARED, ActionState.EXECUTING, ActionState.FAILED)
"""States in which a call goes on to its tool: to claim, to enter a composite again, to hear of its failure there."""

UNFIT = ("arguments_invalid", "not_storable")
"""Errors of arguments as such, before anything was proposed."""

PAUSES = (GraphInterrupt, Bubbled, Interrupted)
"""How a pause comes by on its way to the border."""

_handed: ContextVar[dict[str, Prepared]] = ContextVar("interlock_handed")
"""Calls that a middleware has proposed and whose tool may now claim: by their name, each taken out by the tool."""


class Unfit(Exception):
    """The arguments of a call cannot be proposed; no error of its tool."""

    def __init__(self, error: CallError) -> None:
        super().__init__(str(error))
        self.error = error


class Calls:
    """Calls of the tools of one agent. `workflow` names what can go on with its runs.

    Calls of tools in `asked` are proposed even if they only read. `notice` goes before the result of an edited call.
    """

    def __init__(
        self, guards: Guards, agent: str, workflow: str = "", asked: Container[str] = (), notice: str = ""
    ) -> None:
        self.guards = guards
        self.threads: Threads = threads_of(guards)
        self.turns = Turns(guards, agent, workflow)
        self._asked = asked
        self._notice = notice
        self.known = Known(self._sensitive)
        self._failed: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()

    def _sensitive(self, tool: str) -> Sequence[str]:
        known = self.guards.tools.get(tool)
        return known.spec.sensitive if known is not None else ()

    # -- a tool is called ---------------------------------------------------------------------------

    def call(self, tool: GuardedTool, input: Any, config: RunnableConfig | None, options: Mapping[str, Any]) -> Any:
        """`invoke` of a guarded tool."""
        tool.require_sync()
        call, spot = read_call(tool, input, config, options), spot_of(cast("Any", config)) or here()
        if spot is None:
            return self._plainly(tool, call)
        try:
            doing = self._begin(tool, tool.sync, call, spot)
        except CallError as error:
            return self._unfit(tool, call, error)
        try:
            with entered(doing.frame), executing(spot.task):
                return self._done(doing, self._carry(doing))
        except BaseException as error:
            return self._ended(doing, error)
        finally:
            self._leave(doing)

    async def call_async(
        self, tool: GuardedTool, input: Any, config: RunnableConfig | None, options: Mapping[str, Any]
    ) -> Any:
        """`ainvoke` of a guarded tool."""
        call, spot = read_call(tool, input, config, options), spot_of(cast("Any", config)) or here()
        if spot is None:
            return await self._plainly_async(tool, call)
        try:
            doing = await asyncio.to_thread(self._begin, tool, tool.asynchronous, call, spot, running_task())
        except CallError as error:
            return self._unfit(tool, call, error)
        try:
            with entered(doing.frame), executing(spot.task):
                return self._done(doing, await self._carry_async(doing))
        except BaseException as error:
            return self._ended(doing, error)
        finally:
            if doing.own_pass:
                await asyncio.to_thread(self._leave, doing)

    # -- a middleware sees a call -------------------------------------------------------------------

    def propose(
        self, tool: GuardedTool, tool_call: Mapping[str, Any], config: RunnableConfig, held: Held | None = None
    ) -> Proposed:
        """Propose a model's call and wait for people, before anything that a middleware inside may do."""
        tool.require_sync()
        call, spot = _of_model(tool, tool_call, config)
        try:
            doing = self._begin(tool, tool.sync, call, spot)
        except CallError as error:
            return Proposed(answer=self._unfit(tool, call, error))
        try:
            if self._asks_nobody(doing):
                return Proposed(doing)
            with entered(doing.frame):
                drivers = self.guards.interceptor.drivers
                return self._proposed(doing, cast("Prepared", drivers.drive(self._ask(doing, held), doing.frame.scope)))
        except BaseException as error:
            return self._not_proposed(doing, error)

    async def propose_async(
        self, tool: GuardedTool, tool_call: Mapping[str, Any], config: RunnableConfig, held: Held | None = None
    ) -> Proposed:
        """The same from asynchronous code."""
        call, spot = _of_model(tool, tool_call, config)
        try:
            doing = await asyncio.to_thread(self._begin, tool, tool.asynchronous, call, spot, running_task())
        except CallError as error:
            return Proposed(answer=self._unfit(tool, call, error))
        try:
            if self._asks_nobody(doing):
                return Proposed(doing)
            with entered(doing.frame):
                drivers = self.guards.interceptor.drivers
                asked = await drivers.drive_async(self._ask(doing, held), doing.frame.scope)
                return self._proposed(doing, cast("Prepared", asked))
        except BaseException as error:
            return self._not_proposed(doing, error)

    def _asks_nobody(self, doing: Doing) -> bool:
        """Whether the tool itself sees to everything: a free call, or one that no message names."""
        return doing.named is None or self._free(doing)

    def _proposed(self, doing: Doing, prepared: Prepared) -> Proposed:
        standing = prepared.standing
        if standing.claim is not None or standing.action.state in MAY_RUN:
            return Proposed(doing, prepared)
        error = ending_error(standing.action, doing.body.no_effect_on)
        if error is not None:
            raise error
        value = result_of(standing.action, doing.body.result, self.guards.runtime.blob)
        answer = self._told(doing, standing, value)
        self._leave(doing)
        return Proposed(answer=answer)

    def _not_proposed(self, doing: Doing, error: BaseException) -> Proposed:
        try:
            return Proposed(answer=self._ended(doing, error))
        finally:
            self._leave(doing)

    @contextmanager
    def handing(self, proposed: Proposed) -> Generator[None]:
        """Let the tool take up what was proposed; what it does not take up is given back at the end."""
        doing, prepared = cast("Doing", proposed.doing), proposed.prepared
        ours = {**_handed.get({}), **({} if prepared is None else {doing.key: prepared})}
        token, put_off = _handed.set(ours), True
        try:
            yield
        except BaseException as error:
            put_off = isinstance(error, PAUSES)
            raise
        finally:
            _handed.reset(token)
            left = ours.get(doing.key)
            if left is not None and put_off:
                doing.pass_.put_off(left.request.call_key)
            claim = left.standing.claim if left is not None else None
            try:
                if claim is not None:
                    self.guards.gate.give_back(claim.action, self.guards.runtime.process, claim.fence).result()
            finally:
                self._leave(doing)

    # -- the parts ----------------------------------------------------------------------------------

    def _begin(self, tool: GuardedTool, body: Tool, call: ToolCall, spot: Spot, task: object = None) -> Doing:
        given, said = call.args, None
        if tool.sync.spec.asks_rationale:
            given, said = take(given, saying.get())
        values = tool.values(given)
        outer = current()
        joined = outer is not None and self.threads.holds(outer.scope.pass_)
        if outer is not None and joined:
            pass_ = outer.scope.pass_
        else:
            require_pausable(spot, tool.name)
            pass_ = self.threads.enter(self.turns.whose(spot, body.is_async), spot.call, soon=True)
        try:
            scope = (
                outer.scope if outer is not None and joined else self.threads.scope(pass_, spot.scope, spot.execution)
            )
            named, message = None, None
            if call.id is not None:
                acts, retries = not self._is_free(tool.sync), self.retries(spot, call.id)
                named, message = named_call(pass_, spot, tool.name, call.id, retries, acts=acts, known=self.known)
            if named is not None:
                scope = named_scope(pass_, named, scope)
            inside, parent = (outer.inside, outer.parent) if outer is not None and joined else ("", None)
            frame = Frame(scope, inside, parent, task or running_task())
            reasons = _reasons(said or saying.get(), message)
            return Doing(tool, body, call, values, spot, pass_, frame, named, reasons, not joined)
        except BaseException:
            if not joined:
                self.threads.leave(pass_)
            raise

    def _leave(self, doing: Doing) -> None:
        if doing.own_pass:
            self.threads.leave(doing.pass_)

    def _is_free(self, body: Tool) -> bool:
        return body.spec.name not in self._asked and self.guards.gate.is_free(body.spec)

    def _free(self, doing: Doing) -> bool:
        return self._is_free(doing.body) and doing.key not in _handed.get({})

    def _ask(self, doing: Doing, held: Held | None) -> Flow:
        interceptor = self.guards.interceptor
        prepared = yield from self._prepare(doing, held)
        return (yield from interceptor.settle_down(doing.body, doing.frame, prepared))

    def _flow(self, doing: Doing) -> Flow:
        interceptor = self.guards.interceptor
        prepared = yield from self._prepare(doing)
        return (yield from interceptor.carry_out(doing.body, doing.frame, prepared))

    def _prepare(self, doing: Doing, held: Held | None = None) -> Generator[Any, Any, Prepared]:
        """Take up what a middleware has proposed, or propose it. Raises `Unfit` where its arguments cannot be kept."""
        prepare = self.guards.interceptor.prepare
        try:
            found = self._taken_up(doing)
            if found is not None:
                return found
            return (yield from prepare(doing.body, doing.frame, doing.values, doing.said, named=doing.named, held=held))
        except CallError as error:
            if error.code in UNFIT:
                raise Unfit(error) from None
            raise

    def _taken_up(self, doing: Doing) -> Prepared | None:
        """What a middleware has proposed for this very call; with other arguments it is another call."""
        handed = _handed.get({}) if doing.named is not None else {}
        found = handed.get(doing.key)
        if found is None or found.request.arguments != encode(doing.body, dict(doing.values), check=True):
            return None
        return handed.pop(doing.key)

    def _carry(self, doing: Doing) -> tuple[Standing | None, Any]:
        token = calling(doing.call)
        try:
            interceptor = self.guards.interceptor
            if self._free(doing):
                return None, interceptor.call(doing.body, (), (), doing.values)
            return cast("Any", interceptor.drivers.drive(self._flow(doing), doing.frame.scope))
        finally:
            called(token)

    async def _carry_async(self, doing: Doing) -> tuple[Standing | None, Any]:
        token = calling(doing.call)
        try:
            interceptor = self.guards.interceptor
            if self._free(doing):
                return None, await interceptor.call_async(doing.body, (), (), doing.values)
            return cast("Any", await interceptor.drivers.drive_async(self._flow(doing), doing.frame.scope))
        finally:
            called(token)

    def _done(self, doing: Doing, carried: tuple[Standing | None, Any]) -> Any:
        standing, value = carried
        if standing is None:
            return message_of(doing.tool.name, doing.call.id, unpack(doing.tool.name, None, value))
        return self._told(doing, standing, value)

    def _told(self, doing: Doing, standing: Standing, value: Any) -> Any:
        name, action = doing.tool.name, standing.action
        answer = value if action.answered_by else unpack(name, action.id, value)  # what people say is never packed
        return told(self.guards.runtime, action, name, doing.call.id, answer, self._notice)

    def _ended(self, doing: Doing, error: BaseException) -> Any:
        """A call that ended without a result: what its caller gets instead, or what is raised."""
        if isinstance(error, Interrupted):
            cross(doing.spot.task, error)
        if isinstance(error, Bubbled):
            raise error.bubble from None
        if isinstance(error, Unfit):
            return self._unfit(doing.tool, doing.call, error.error)
        self.known.forget(f"{doing.pass_.run_id} {doing.spot.graph}")
        if isinstance(error, TELLABLE) and doing.call.id is not None:
            return refusal(error, doing.tool.name, doing.call.id)
        if isinstance(error, CallError) and error.code == "call_changed" and doing.call.id is not None:
            return refusal(error, doing.tool.name, doing.call.id)
        if isinstance(error, Exception) and not isinstance(error, InterlockError) and doing.call.id is not None:
            self._count_failure(doing)
        raise error

    def _unfit(self, tool: GuardedTool, call: ToolCall, error: CallError) -> Any:
        """Arguments that do not fit are the model's to mend; nothing was proposed."""
        if error.code in UNFIT and call.id is not None:
            return refusal(error, tool.name, call.id)
        raise error

    def retries(self, spot: Spot, call_id: str) -> int:
        """How often the call was made again in this task, after it had failed."""
        return self._failed.get(spot.read, {}).get(call_id, 0) if spot.read is not None else 0

    def _count_failure(self, doing: Doing) -> None:
        """Something may call the tool again now: that is another try, and another action."""
        if doing.spot.read is not None and doing.call.id is not None:
            counts = self._failed.setdefault(doing.spot.read, {})
            counts[doing.call.id] = counts.get(doing.call.id, 0) + 1

    # -- outside any graph --------------------------------------------------------------------------

    def _plainly(self, tool: GuardedTool, call: ToolCall) -> Any:
        token = calling(call)
        try:
            value = self.guards.interceptor.call(tool.sync, (), (), tool.values(call.args))
            return message_of(tool.name, call.id, unpack(tool.name, None, value))
        finally:
            called(token)

    async def _plainly_async(self, tool: GuardedTool, call: ToolCall) -> Any:
        token = calling(call)
        try:
            value = await self.guards.interceptor.call_async(tool.asynchronous, (), (), tool.values(call.args))
            return message_of(tool.name, call.id, unpack(tool.name, None, value))
        finally:
            called(token)


def _of_model(tool: GuardedTool, tool_call: Mapping[str, Any], config: RunnableConfig) -> tuple[ToolCall, Spot]:
    spot = spot_of(cast("Any", config))
    if spot is None:
        raise CallError("outside_run", f"{tool.name} was called outside any graph, so it was not run", "")
    return ToolCall(tool_call["args"], id_of(tool, tool_call), {}, config, {}), spot


def _reasons(said: Rationale, message: AIMessage | None) -> Rationale:
    """Why, in the agent's words: what it said for this call, else the text that came with it."""
    if said.reasoning or message is None or not message.text:
        return said
    return replace(said, reasoning=message.text)
