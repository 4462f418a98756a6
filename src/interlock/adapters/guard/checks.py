"""Checks of the team's own: what `il.before` and `il.after` register, and what they can say.

A check runs in the caller's process before people are asked, outside any transaction. It can make a ruling
stricter and never looser: `Call` has no method that lets anything go. A check that fails, answers something
else than None, or does not answer in time holds the call for a person, with that reason.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, cast

from interlock.adapters.guard.frames import Frame, entered
from interlock.adapters.guard.hooks import why
from interlock.adapters.guard.places import Scope
from interlock.adapters.guard.tool import Tool
from interlock.domain.action import Action, ActionRequest, Checked, Objection
from interlock.domain.commands import OutcomeKind
from interlock.domain.errors import Interrupted, SettingsError
from interlock.domain.hiding import veiled
from interlock.domain.ruling import Reason
from interlock.domain.tool import InterruptPolicy
from interlock.ports.runtime import Runtime
from interlock.schema import decode_result, encode_result, fill

log = logging.getLogger("interlock")

ASYNC_WITHIN = timedelta(seconds=30)
"""How long a check that is a coroutine function may take, where nobody says."""


_Said = tuple[list[Objection], list[tuple[str, str]]]


def _nothing_said() -> _Said:
    return [], []


class Call:
    """A call as a check sees it: what is about to be proposed (`before`), or what was done (`after`).

    `arguments` are copies by name: changing them changes nothing. Before the call, `hold(words)` has a
    person decide, `deny(words)` refuses it, and `note(words)` puts a line on the card.
    """

    __slots__ = (
        "_by", "_notes", "_objections", "agent", "arguments", "category", "reach", "reversibility", "run", "tool"
    )  # fmt: skip

    def __init__(self, tool: Tool, scope: Scope, values: Mapping[str, object], by: str, said: _Said) -> None:
        run = scope.pass_.grant.run
        self.tool = tool.spec.name
        self.reversibility = tool.spec.worst.value
        self.reach = frozenset(each.value for each in tool.spec.reach)
        self.category = tool.spec.category
        self.agent = run.agent
        self.run: str = run.id
        # What will run is frozen already; a check gets values of its own.
        self.arguments = tool.parameters.decode(tool.parameters.encode(values))
        self._by = by
        self._objections, self._notes = said

    def hold(self, words: str) -> None:
        """Have a person decide, whatever else would let it go."""
        self._objections.append(Objection(InterruptPolicy.HARD_STOP, Reason("check_holds", self._said(words))))

    def deny(self, words: str) -> None:
        """Refuse the call; the agent gets the words. For what no approval could repair."""
        self._objections.append(Objection(InterruptPolicy.DENY, Reason("check_denies", self._said(words))))

    def note(self, words: str) -> None:
        """Tell the reviewer something, marked as this check's words."""
        self._notes.append((self._by, str(words)))

    def _said(self, words: object) -> str:
        return f"the check {self._by} says: {words}" if str(words).strip() else f"the check {self._by} objects"


@dataclass(frozen=True, slots=True)
class Check:
    """One registered function, the tools it is for (None: all), and how long it may take (None: as long as it does)."""

    fn: Callable[..., object]
    name: str
    tools: frozenset[str] | None
    within: timedelta | None

    def covers(self, tool: str) -> bool:
        """Whether it wants to see calls of this tool."""
        return self.tools is None or tool in self.tools


class Checks:
    """Everything registered with one `Interlock`, in order."""

    def __init__(self) -> None:
        self.before: list[Check] = []
        self.after: list[Check] = []

    def ask(self, tool: Tool, scope: Scope, values: Mapping[str, object]) -> Generator[Any, Any, Checked]:
        """Ask every check that covers the tool; a flow, so that an event loop is not kept waiting by a slow one."""
        objections, notes = said = _nothing_said()
        for check in self.before:
            if not check.covers(tool.spec.name):
                continue
            wrong = yield from _run(check, Call(tool, scope, values, check.name, said), scope)
            if wrong is not None:
                objections.append(Objection(InterruptPolicy.HARD_STOP, wrong))
        return _fit_to_be_shown(Checked(tuple(objections), tuple(notes)), tool, values)

    def ask_again(
        self, tool: Tool, scope: Scope, request: ActionRequest, action: Action, runtime: Runtime
    ) -> Generator[Any, Any, ActionRequest]:
        """The request with what the checks say now of what is about to run: a person may have changed it since."""
        if not self.before:
            return request
        try:
            stored = tool.parameters.decode(fill(cast("Any", runtime.arguments(action.id)), runtime.blob))
        except ValueError:
            return request  # the tool changed; the claim says what becomes of that
        checked = yield from self.ask(tool, scope, stored)
        return replace(request, checked=checked)

    def tell(self, tool: Tool, scope: Scope, values: Mapping[str, object], outcome: OutcomeKind, value: object) -> None:
        """Tell what came of a call that ran. What was done stays done, whatever an observer does with it."""
        for check in self.after:
            if not check.covers(tool.spec.name):
                continue
            try:
                with entered(Frame(scope, barred=f"the check {check.name}")):
                    call = Call(tool, scope, values, check.name, _nothing_said())
                    check.fn(call, outcome.value, _copy(tool, value))
            except (KeyboardInterrupt, Interrupted):
                raise
            except BaseException:
                log.exception("the check %s failed after %s", check.name, tool.spec.name)


def _copy(tool: Tool, value: object) -> object:
    """The result for an observer: what it does to it reaches nobody else. What cannot be copied is not given."""
    tree, stored = encode_result(tool.result, value)
    return decode_result(tool.result, tree) if stored else None


def make_check(fn: object, where: str, tools: object, within: timedelta | None) -> Check:
    """A check from what people wrote; raises `SettingsError` for what none can be made of."""
    if not callable(fn):
        raise SettingsError("not_callable", f"il.{where} takes a function, not {fn!r}"[:200], "Give it a function.")
    if tools is not None and (isinstance(tools, str) or not _names(tools)):
        raise SettingsError("bad_keyword", f"il.{where}: tools={tools!r} is no list of names"[:200], "List tool names.")
    name = str(getattr(fn, "__name__", type(fn).__name__))
    _takes(fn, name, where)
    if inspect.iscoroutinefunction(fn):
        if where == "after":
            raise SettingsError("bad_keyword", f"il.after: {name} is asynchronous", "Give it a plain function.")
        within = within or ASYNC_WITHIN
    if within is not None and within <= timedelta(0):
        raise SettingsError("bad_duration", f"il.{where}: within={within} is no time to answer", "Use 5 or 5s.")
    named = None if tools is None else frozenset(cast("list[str]", tools))
    return Check(cast("Callable[..., object]", fn), name, named, within)


def _takes(fn: Callable[..., object], name: str, where: str) -> None:
    """Refuse a function that could not be called as it will be."""
    given = ("call",) if where == "before" else ("call", "outcome", "result")
    try:
        inspect.signature(fn).bind(*given)
    except TypeError:
        wanted = ", ".join(given)
        raise SettingsError(
            "bad_check", f"il.{where}: {name} does not take ({wanted})", f"Write def {name}({wanted})."
        ) from None
    except ValueError:
        pass  # a builtin that does not say what it takes


def refuse_unknown(checks: Iterable[Check], tools: Iterable[str]) -> None:
    """Refuse a check for a tool that nobody guards: it would look at nothing, and nobody would know."""
    known = {*tools, "handoff"}
    for check in checks:
        unknown = sorted((check.tools or frozenset()) - known)
        if unknown:
            near = get_close_matches(unknown[0], known, 1)
            raise SettingsError(
                "check_for_nothing",
                f"the check {check.name} is for {unknown[0]}, and no tool of that name is guarded",
                f"Did you mean {near[0]}?" if near else "Guard the tool before the first run, or mend the name.",
            )


def _names(tools: object) -> bool:
    return isinstance(tools, (list, tuple, set, frozenset)) and all(
        isinstance(each, str) for each in cast("list[object]", tools)
    )


def _run(check: Check, call: Call, scope: Scope) -> Generator[Any, Any, Reason | None]:
    """Run one check; answers what was wrong with it, if anything was."""
    if check.within is None:
        return _verdict(check, call, scope)
    seconds = check.within.total_seconds()
    answer: Future[Reason | None] = Future()
    context = copy_context()

    def body() -> None:
        try:
            _settle(answer, context.run(_verdict, check, call, scope))
        except BaseException as error:
            _settle(answer, Reason("check_failed", f"the check {check.name} ended with {type(error).__name__}"))

    def too_late() -> None:
        words = f"the check {check.name} did not answer within {seconds:g} s"
        _settle(answer, Reason("check_late", words))

    timer = threading.Timer(seconds, too_late)
    timer.daemon = True
    timer.start()
    threading.Thread(target=body, name=f"interlock-check-{check.name}", daemon=True).start()
    try:
        return cast("Reason | None", (yield answer))
    finally:
        timer.cancel()


def _fit_to_be_shown(checked: Checked, tool: Tool, values: Mapping[str, object]) -> Checked:
    """Without what the tool declares as sensitive, and as text that can be kept."""
    if not checked.objections and not checked.notes:
        return checked
    arguments = tool.parameters.encode(values) if tool.spec.sensitive else {}

    def fit(words: str) -> str:
        return veiled(words.encode("utf-8", "backslashreplace").decode(), arguments, tool.spec.sensitive)

    objections = (
        replace(each, reason=replace(each.reason, words=fit(each.reason.words))) for each in checked.objections
    )
    return Checked(tuple(objections), tuple((by, fit(words)) for by, words in checked.notes))


def _settle(answer: Future[Reason | None], said: Reason | None) -> None:
    """The first word counts; what comes after it is too late."""
    try:
        answer.set_result(said)
    except Exception:
        log.debug("a check answered twice")


def _verdict(check: Check, call: Call, scope: Scope) -> Reason | None:
    try:
        with entered(Frame(scope, barred=f"the check {check.name}")):
            said = check.fn(call)
            if inspect.iscoroutine(said):
                said = asyncio.run(said)
    except (KeyboardInterrupt, Interrupted):
        raise
    except BaseException as error:  # a check that would end the process holds the call like any other that fails
        return Reason("check_failed", f"the check {check.name} failed: {why(error)}"[:500])
    if said is not None:
        return Reason(
            "check_failed",
            f"the check {check.name} returned {type(said).__name__}, which says nothing; it should call hold or deny",
        )
    return None
