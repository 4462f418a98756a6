"""Drives the flow of a guarded call: waits for what it asks for, synchronously or not.

The flow is a generator; what it yields is a future of the gate, a tool to execute, or a moment to
let pass. So the flow is written once, for both worlds.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from interlock.adapters.guard.frames import Frame, entered, pop, push, running_task
from interlock.adapters.guard.places import Scope
from interlock.adapters.guard.tool import Tool
from interlock.domain.errors import CallError, NoEffect, StoreError


@dataclass(frozen=True, slots=True)
class Execute:
    """Run the tool's body with these arguments, in this frame."""

    tool: Tool
    args: tuple[object, ...]
    kwargs: dict[str, object]
    frame: Frame


@dataclass(frozen=True, slots=True)
class Ended:
    """How the body ended: with a value, or with what it raised."""

    value: object = None
    error: BaseException | None = None
    returned: bool = True


class PausedInside(BaseException):
    """A pause that a framework makes in a tool's body on purpose: the body runs anew once it is answered."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Let at most so many seconds pass, or until something changes in the store."""

    seconds: float


Flow = Generator[Any, Any, object]


class Drivers:
    """Both ways of driving a flow.

    `wait_for_change` blocks until something may have happened in the store, `leave` takes the answer
    of the gate that a call did not wait for, because it was interrupted.
    """

    def __init__(self, wait_for_change: Callable[[float], object], leave: Callable[[Scope, object], None]) -> None:
        self._wait_for_change = wait_for_change
        self._leave = leave

    def drive(self, flow: Flow, scope: Scope) -> object:
        """Drive a flow to its end in this thread; answers what the guarded call returns."""
        with scope.pass_.under_way():
            try:
                return self._drive(flow, scope)
            except StoreError as error:
                raise scope.pass_.break_off(scope, error)  # noqa: B904  the same error

    async def drive_async(self, flow: Flow, scope: Scope) -> object:
        """Drive a flow to its end in this task; a cancellation never leaves a claim behind."""
        with scope.pass_.under_way():
            try:
                return await self._drive_async(flow, scope)
            except StoreError as error:
                raise scope.pass_.break_off(scope, error)  # noqa: B904  the same error

    def _drive(self, flow: Flow, scope: Scope) -> object:
        answer: object = None
        error: BaseException | None = None
        while True:
            try:
                step = flow.throw(error) if error is not None else flow.send(answer)
            except StopIteration as stop:
                return stop.value
            answer, error = None, None
            try:
                if isinstance(step, Execute):
                    answer = self._execute(step)
                elif isinstance(step, Pause):
                    with scope.pass_.idling():
                        self._wait_for_change(step.seconds)
                else:
                    answer = step.result()
            except KeyboardInterrupt as interrupt:
                error = interrupt
                if isinstance(step, Future):
                    with suppress(Exception):
                        self._leave(scope, cast("Future[object]", step).result())
            except BaseException as raised:
                error = raised

    async def _drive_async(self, flow: Flow, scope: Scope) -> object:
        answer: object = None
        error: BaseException | None = None
        cancelled: asyncio.CancelledError | None = None
        while True:
            try:
                step = flow.throw(error) if error is not None else flow.send(answer)
            except StopIteration as stop:
                if cancelled is not None:
                    raise cancelled from None
                return stop.value
            answer, error = None, None
            try:
                if isinstance(step, Execute):
                    answer = await self._execute_async(step)
                elif isinstance(step, Pause):
                    with scope.pass_.idling():
                        await asyncio.to_thread(self._wait_for_change, step.seconds)
                else:
                    waiting = asyncio.wrap_future(step)
                    try:
                        answer = await asyncio.shield(waiting)
                    except asyncio.CancelledError as interrupt:
                        # The gate is never half asked: its word is awaited, and a claim that came with it is
                        # used (a sibling paused; the approval must not go to waste) or given back.
                        await finished(waiting)
                        refused = waiting.exception()
                        if refused is not None:
                            raise interrupt from refused
                        answer, cancelled = waiting.result(), interrupt
                        if not scope.pass_.parked:
                            self._leave(scope, answer)
                            raise
            except BaseException as raised:
                error = raised

    def _execute(self, step: Execute) -> Ended:
        token = push(step.frame)
        try:
            return Ended(at_once(step.tool, step.tool.fn(*step.args, **step.kwargs)))
        except BaseException as error:
            return Ended(error=error, returned=False)
        finally:
            pop(token)

    async def _execute_async(self, step: Execute) -> Ended:
        pass_ = step.frame.scope.pass_

        async def body() -> object:
            step.frame.task = running_task()
            with entered(step.frame):
                return await cast("Any", step.tool.fn(*step.args, **step.kwargs))

        with entered(Frame(step.frame.scope, step.frame.inside, step.frame.parent, running_task())):
            work = asyncio.ensure_future(body())
        try:
            return Ended(await asyncio.shield(work))
        except asyncio.CancelledError as cancelled:
            if not work.done() and not pass_.parked and not step.tool.threaded:
                # Somebody really wants it to stop: it is told, and what came of it is in doubt.
                work.cancel()
            # A sibling paused: that must not tear an effect apart. It is let end, and its outcome is kept. So is what
            # runs in a thread: a cancellation would not stop that, it would only lose sight of it.
            await finished(work)
            if work.cancelled() or work.exception() is not None:
                return Ended(error=cancelled if work.cancelled() else work.exception(), returned=False)
            return Ended(work.result(), cancelled)
        except BaseException as error:
            return Ended(error=error, returned=False)


async def finished(work: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait until it is done, however often we are cancelled meanwhile; answers the last cancellation."""
    cancelled = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as interrupt:
            cancelled = interrupt
    return cancelled


def at_once(tool: Tool, value: object) -> object:
    """The value, unless it is a promise of work still to be done: that would run behind the gate's back.

    A coroutine has not begun, so nothing has happened (`NoEffect`); of anything else that is not known.
    """
    name = tool.spec.name
    if inspect.iscoroutine(value):
        value.close()
        raise NoEffect(
            f"{name} returned a coroutine, so nothing was run; guard the async function, or make its wrapper async"
        )
    lazy = (Future, AsyncGenerator, Generator)
    if isinstance(value, lazy) or inspect.isawaitable(value):
        raise CallError(
            "lazy_result",
            f"{name} returned a {type(cast('object', value)).__name__}, a promise of work still to be done",
            "Let the tool do its work before it returns.",
        )
    return value
