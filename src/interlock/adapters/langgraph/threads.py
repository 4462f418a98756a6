"""Passes of graph runs: entered with the first guarded thing that a graph does, left with the last.

A graph that was registered is one pass from its call to its end. A graph that was not tells nobody when
it begins and ends; there a pass lasts as long as guarded calls are under way, and between two of them
the run goes on outside any pass.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import WeakKeyDictionary

from langgraph.errors import GraphInterrupt

from interlock.adapters.guard.guards import Guards
from interlock.adapters.guard.places import Pass, Scope
from interlock.domain.action import arguments_bytes
from interlock.domain.errors import CallError, RunError
from interlock.domain.ids import RunId
from interlock.domain.run import PassEnd, PassReport, Run


@dataclass(frozen=True, slots=True)
class Whose:
    """Which run is meant, and what is kept of it: `workflow` names what can go on with it."""

    run: RunId
    agent: str
    thread: str
    workflow: str = ""
    input: bytes | None = None


def kept_input(thread: str, configurable: Mapping[str, Any], *, asynchronous: bool = False, version: str = "") -> bytes:
    """What is kept of a call so that a worker can go on with it: of what is configured, what is plain.

    Raises `CallError` `not_storable` for text that cannot be kept.
    """
    plain = {
        key: value
        for key, value in configurable.items()
        if not key.startswith(("__", "checkpoint"))
        and key != "thread_id"
        and (value is None or isinstance(value, (str, int, bool)))
    }
    kept: dict[str, Any] = {"thread": thread, "asynchronous": asynchronous, "version": version, "configurable": plain}
    try:
        return arguments_bytes(cast("Any", kept))
    except ValueError as error:
        raise CallError(
            "not_storable",
            f"the thread id, or what is configured beside it, cannot be kept, so nothing was run: {error}",
            "Call the graph with another thread_id.",
        ) from None


@dataclass(slots=True)
class _Held:
    entered: Future[Pass]
    call: object
    count: int = 1
    left: Future[None] | None = None
    report: PassReport | None = None
    scopes: dict[str, list[tuple[object, Scope]]] = field(default_factory=dict[str, list[tuple[object, Scope]]])


class Threads:
    """The passes of this process. One for each `Interlock`; safe to call from any thread."""

    def __init__(self, guards: Guards) -> None:
        self._guards = guards
        self._lock = threading.Lock()
        self._held: dict[RunId, _Held] = {}

    def enter(self, whose: Whose, call: object = None, *, soon: bool = False) -> Pass:
        """Enter the run, or join the pass in which the same `call` of the graph has it. Raises `RunError`.

        `call` is one object in everything that one call of a graph does, None where nothing tells calls apart. Any
        other finds the run `busy`, as in another process: calls are counted within a pass, so what two do at once
        would count as meant twice. The other errors are those of `Runtime.enter`; `soon` is for who proposes something
        next, as there.
        """
        while True:
            with self._lock:
                held = self._held.get(whose.run)
                if held is None:
                    mine = self._held[whose.run] = _Held(Future(), call)
                    break
                if held.left is None:
                    if held.call is not call:
                        raise RunError(
                            "busy",
                            f"run {whose.run} is being driven by another call of its graph in this process",
                            "Wait for it.",
                        )
                    held.count += 1
                    leaving = None
                else:
                    leaving = held.left
            if leaving is None:
                return held.entered.result()
            leaving.exception()  # whatever came of it: then the run can be entered anew
        guards = self._guards
        try:
            granted = guards.runtime.enter(
                whose.run,
                agent=whose.agent,
                workflow=whose.workflow,
                input=whose.input,
                owner=guards.owner,
                versions=guards.versions,
                thread=whose.thread,
                soon=soon,
            ).result()
        except BaseException as error:
            with self._lock:
                del self._held[whose.run]
            mine.entered.set_exception(error)
            raise
        pass_ = Pass(granted, lambda: 0.0, guards.runtime, lambda: None)
        mine.entered.set_result(pass_)
        return pass_

    def join(self, pass_: Pass) -> Pass:
        """Be in a pass once more that its holder hands on; `leave` it as after `enter`."""
        with self._lock:
            self._held[pass_.run_id].count += 1
        return pass_

    def known_as(self, pass_: Pass, call: object) -> None:
        """Say by which object the call that holds a pass is known inside the graph."""
        if call is not None:
            with self._lock:
                self._held[pass_.run_id].call = call

    def leave(self, pass_: Pass, report: PassReport | None = None) -> Run | None:
        """Give back what `enter` gave; the last one leaves the run, with `report` or as it stands."""
        with self._lock:
            held = self._held[pass_.run_id]
            held.count -= 1
            held.report = held.report or report  # who knows best how it ended says so first
            if held.count:
                return None
            held.left = Future()
        try:
            pass_.drain()
            report = held.report or standing_report(pass_)
            # The end of a pass is on record before its caller hears of it. Between two calls nothing has ended.
            between = report.end is PassEnd.BETWEEN
            left = self._guards.runtime.leave(pass_.run_id, pass_.number, report, soon=between)
            return None if between else left.result()
        finally:
            with self._lock:
                del self._held[pass_.run_id]
            held.left.set_result(None)

    def holds(self, pass_: Pass) -> bool:
        """Whether a pass is one of ours, and still under way."""
        with self._lock:
            held = self._held.get(pass_.run_id)
            return held is not None and held.entered.done() and held.entered.result() is pass_

    def scope(self, pass_: Pass, path: str, execution: object = None) -> Scope:
        """The scope of one execution of a task in this pass; the same one each time.

        LangGraph may execute a task again within a pass (`RetryPolicy`). That is the same code from its first line, as
        in a later pass: its calls are counted anew, and find what the execution before has done.
        """
        with self._lock:
            executions = self._held[pass_.run_id].scopes.setdefault(path, [])
            for known, scope in executions:
                if known is execution:
                    return scope
            before = executions[-1][1] if executions else None
            made = Scope(pass_, path, None) if before is None else pass_.again(before, self._guards.gate.find)
            made.keeps = True
            executions.append((execution, made))
            return made

    @contextmanager
    def within(self, whose: Whose, call: object = None) -> Generator[Pass]:
        """Be in the run for the block."""
        pass_ = self.enter(whose, call)
        try:
            yield pass_
        finally:
            self.leave(pass_)


def standing_report(pass_: Pass) -> PassReport:
    """What there is to tell of a pass whose end nobody tells."""
    seen, waits = frozenset(pass_.seen), tuple(dict.fromkeys(pass_.waits_for))
    if pass_.diverged is not None:
        return PassReport(PassEnd.DIVERGED, seen=seen, expected=pass_.diverged.expected, got=pass_.diverged.got)
    if pass_.parked:
        return PassReport(PassEnd.WAITING, seen=seen, waits_for=waits, broken=pass_.broken is not None)
    return PassReport(PassEnd.BETWEEN, seen=seen)


_threads: WeakKeyDictionary[Guards, Threads] = WeakKeyDictionary()
_making = threading.Lock()


def threads_of(guards: Guards) -> Threads:
    """The one `Threads` of an `Interlock`."""
    with _making:
        found = _threads.get(guards)
        if found is None:
            found = _threads[guards] = Threads(guards)
            executor = guards.interceptor.executor
            executor.pauses = (*executor.pauses, GraphInterrupt)  # what `interrupt()` raises in a guarded function
        return found
