"""Which thread or task is in which scope: what is current where code runs."""

from __future__ import annotations

import asyncio
from asyncio import events as asyncio_events
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any
from weakref import WeakKeyDictionary

from interlock.adapters.guard.places import Scope
from interlock.domain.errors import Interrupted
from interlock.domain.ids import ActionId


class Frame:
    """What is current: the scope, and the tool whose body is being executed, if one is.

    `inside` names an executing tool that cannot pause (a guarded call in it that would be held is
    refused), `parent` the action it executes. `task` is the asyncio task the frame belongs to.
    `scope` may be given as a function that makes it when it is first needed. `barred` names code that must
    make no guarded call at all. `locate` finds the frame to use instead, where a framework knows better than tasks do.
    """

    __slots__ = ("_scope", "barred", "inside", "locate", "parent", "task")

    def __init__(
        self,
        scope: Scope | Callable[[], Scope],
        inside: str = "",
        parent: ActionId | None = None,
        task: object = None,
        barred: str = "",
    ) -> None:
        self._scope = scope
        self.inside = inside
        self.parent = parent
        self.task = task
        self.barred = barred
        self.locate: Callable[[], Frame] | None = None

    @property
    def scope(self) -> Scope:
        """The scope that calls here belong to."""
        if not isinstance(self._scope, Scope):
            self._scope = self._scope()
        return self._scope

    @property
    def closed(self) -> Interrupted | None:
        """The pause that closed the scope, if there is one, without making the scope for it."""
        return self._scope.closed if isinstance(self._scope, Scope) else None

    def branch(self, name: str, task: object) -> Frame:
        """The frame of a concurrent branch that was started here."""
        return Frame(self.scope.child(name), self.inside, self.parent, task, self.barred)


_current: ContextVar[Frame | None] = ContextVar("interlock_frame", default=None)


def current() -> Frame | None:
    """The frame that this code is in, or None outside any run."""
    frame = _current.get()
    if frame is None:
        return None
    if frame.locate is not None:
        return frame.locate()
    loop = asyncio_events._get_running_loop()  # current_task() raises without one, slowly
    if loop is None:
        return frame
    task = asyncio.current_task(loop)
    if task is None or task is frame.task:
        return frame
    return _branch_of(frame, loop, task)


def _branch_of(frame: Frame, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> Frame:
    """The frame of a task that inherited ours in a loop whose tasks we did not see being made.

    Those that are there at the loop's first guarded call are numbered in the order of their making
    (whatever tasks other loops make meanwhile); from then on we see them being made. Which of the older
    ones made a task is not known, so a pause in it closes all of them: its parent is among them.
    """
    pass_ = frame.scope.pass_
    with pass_.lock:
        if loop not in pass_.loops:
            older = within = frame.scope.child("loop")
            pass_.loops[loop] = (within, within.closed)
            for number, each in enumerate(sorted(filter(_ordinal, asyncio.all_tasks(loop)), key=_ordinal)):
                older = Scope(pass_, f"{within.path}/{number}", older)
                older.closed = within.closed
                pass_.frames[each] = Frame(older, frame.inside, frame.parent, each)
            pass_.at_end.append(watch_tasks(loop))
        known = pass_.frames.get(task)
        if known is None:
            within, closed = pass_.loops[loop]
            scope = within.child(f"={task.get_name()}")
            scope.closed = closed  # as it was then, whatever its siblings did since
            known = pass_.frames[task] = Frame(scope, frame.inside, frame.parent, task)
        _current.set(known)
        return known


def _ordinal(task: asyncio.Task[Any]) -> int:
    prefix, _, number = task.get_name().partition("-")
    return int(number) if prefix == "Task" and number.isdigit() else 0


@contextmanager
def entered(frame: Frame) -> Generator[Frame]:
    """Make `frame` current for the block."""
    token = _current.set(frame)
    try:
        yield frame
    finally:
        _current.reset(token)


@contextmanager
def outside() -> Generator[None]:
    """Be outside any run for the block: for what is done there for whoever called, and not for the agent."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def push(frame: Frame) -> Any:
    """Make `frame` current until `pop`; the quick form of `entered`."""
    return _current.set(frame)


def pop(token: Any) -> None:
    """Make current again what was before `push`."""
    _current.reset(token)


def running_task() -> object:
    """The asyncio task that runs here, or None."""
    loop = asyncio_events._get_running_loop()
    return asyncio.current_task(loop) if loop is not None else None


_watched: WeakKeyDictionary[asyncio.AbstractEventLoop, list[Any]] = WeakKeyDictionary()
"""Loops whose tasks we see being made, each with the task factory that was there before, once for each run."""


def watch_tasks(loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Name the branches of tasks by the order in which their parent makes them; returns the way back.

    Put on a loop by an asynchronous run. Tasks made outside any run are left alone.
    """
    runs = _watched.setdefault(loop, [])
    previous = runs[0] if runs else loop.get_task_factory()
    runs.append(previous)

    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> Any:
        frame = current()
        if frame is None:
            return _make(previous, loop, coro, options)
        context = options.get("context")
        context = copy_context() if context is None else context
        branch = frame.branch("t", None)
        context.run(_current.set, branch)
        branch.task = task = _make(previous, loop, coro, {**options, "context": context})
        return task

    if len(runs) == 1:
        loop.set_task_factory(factory)

    def unwatch() -> None:
        runs.pop()
        if not runs:
            loop.set_task_factory(previous)

    return unwatch


def _make(previous: Any, loop: asyncio.AbstractEventLoop, coro: Any, options: dict[str, Any]) -> Any:
    return previous(loop, coro, **options) if previous is not None else asyncio.Task(coro, loop=loop, **options)
