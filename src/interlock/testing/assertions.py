"""Assertions about what agents did and did not do, with texts that say what was expected and what is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, cast

from interlock.adapters.guard.tool import Tool
from interlock.adapters.plain.handle import RunHandle
from interlock.adapters.plain.resume import Workflow
from interlock.compose import Interlock
from interlock.domain.action import ActionState, RefusalKind
from interlock.domain.errors import RunError
from interlock.domain.ids import RunId
from interlock.domain.interrupt import InterruptKind
from interlock.domain.run import RunState
from interlock.kernel import CardView, RunView
from interlock.testing.ledger import Ledger, plain_value, state_of
from interlock.testing.matching import call, matches

_ANYTHING: Any = object()


class Assertions:
    """Asks the ledger of one `Interlock` (`il`); every method raises `AssertionError` where it is not so.

    A run is what `start` returned, or its key. Arguments are those that the tool would get: named ones must be
    equal, others may be anything. The ledger knows what went through the gate: what code does past it (the bare
    function, the HTTP client itself) it cannot know, so put a fake at that border if the test is about that.
    """

    def __init__(self, il: Interlock) -> None:
        self.il = il

    def assert_pauses(self, run: RunHandle | str, tool: str, **arguments: object) -> CardView:
        """The run waits, and a person is asked about this call, which has not run; answers its card."""
        __tracebackhide__ = True
        view = self._view(run)
        self._know(tool, arguments)
        if view.run.state is RunState.WAITING:
            for about in view.actions:
                card = next((each for each in about.cards if each.open), None)
                asked = card is not None and card.kind is InterruptKind.ACTION and about.action.tool == tool
                if asked and card is not None and matches(self._ledger.whole(about), arguments):
                    found = self.il.kernel.card(card.id)
                    assert found is not None, "it was there a moment ago"
                    return found
        wanted = call(tool, arguments) if arguments else plain_tool(tool)
        raise self._failure(f"run {view.run.id!r} waits for a person to decide {wanted}", self._told(view))

    def assert_never_ran(self, tool: str, **arguments: object) -> None:
        """The tool was not started by any run (with these arguments, where some are named), approved or not."""
        __tracebackhide__ = True
        self._know(tool, arguments)
        starts = self._ledger.starts(tool, arguments)
        if starts:
            wanted = call(tool, arguments) if arguments else plain_tool(tool)
            began = "started once" if len(starts) == 1 else f"started {len(starts)} times"
            raise self._failure(
                f"{wanted} never runs; it {began}", [str(each) for each in starts], then=self._ledger.tell_all()
            )

    def assert_ran_once(self, tool: str, **arguments: object) -> None:
        """The tool was started exactly once (with these arguments, where some are named), and it is done."""
        __tracebackhide__ = True
        self._know(tool, arguments)
        starts = self._ledger.starts(tool, arguments)
        if len(starts) == 1 and starts[0].done:
            return
        wanted = call(tool, arguments) if arguments else plain_tool(tool)
        began = f"it started {'once' if len(starts) == 1 else f'{len(starts)} times'}" if starts else "it never did"
        others = [str(each) for each in self._ledger.starts(tool, {})] or [f"no call of {tool} that started"]
        raise self._failure(f"{wanted} runs exactly once, to its end; {began}", others, then=self._ledger.tell_all())

    def assert_refused(self, run: RunHandle | str, kind: str, words: str = "", *, tool: str = "") -> None:
        """An action of the run (of `tool`) was refused in this way (`rejected`, `expired`, …), with these words."""
        __tracebackhide__ = True
        view = self._view(run)
        if tool:
            self._know(tool)
        if kind not in list(RefusalKind):
            raise AssertionError(f"nothing is ever refused as {kind!r}; {_mend(kind, list(RefusalKind))}")
        for about in view.actions:
            row = about.action
            refused = row.state is ActionState.REFUSED and row.refusal is not None and row.refusal.value == kind
            if refused and words in row.words and tool in ("", row.tool):
                return
        told = f" and the words {words!r}" if words else ""
        what = plain_tool(tool) if tool else "an action"
        raise self._failure(f"run {view.run.id!r}: {what} was refused as {kind!r}{told}", self._told(view))

    def assert_finished(self, run: RunHandle | str, result: object = _ANYTHING) -> None:
        """The run has come to its end (with this result, where one is named)."""
        __tracebackhide__ = True
        view = self._view(run)
        named = result is not _ANYTHING
        if view.run.state is RunState.FINISHED and (not named or self._result(run, view) == result):
            return
        wanted = f" with the result {result!r}" if named else ""
        raise self._failure(f"run {view.run.id!r} finishes{wanted}; it is {state_of(view)}", self._told(view))

    def assert_asked_nobody(self, run: RunHandle | str) -> None:
        """No person was asked anything in this run, decided or not."""
        __tracebackhide__ = True
        view = self._view(run)
        if any(about.cards for about in view.actions):
            raise self._failure(f"run {view.run.id!r} asks nobody", self._told(view))

    def assert_nothing_waits(self) -> None:
        """No card is open and no run waits, in the whole store."""
        __tracebackhide__ = True
        left = self.leftovers()
        if left:
            raise self._failure("nothing waits any more", left)

    def leftovers(self) -> list[str]:
        """Every run that waits or was stopped, in lines with its actions."""
        over = (RunState.FINISHED, RunState.CANCELLED, RunState.FAILED)
        waiting = [run.id for run in self._ledger.runs() if run.state not in over]
        asked = [view.run.id for view in self.il.kernel.inbox(1000)]
        names = dict.fromkeys([*reversed(waiting), *asked])
        return [line for name in names for line in self._ledger.tell(name)]

    # -- below the assertions ----------------------------------------------------------------------

    @property
    def _ledger(self) -> Ledger:
        self._flush()
        return Ledger(self.il.kernel)

    def _flush(self) -> None:
        self.il.kernel.store.flush()

    def _tools(self) -> Mapping[str, Tool]:
        """The tools that are guarded here, by their names."""
        return self.il.guards.tools

    def _view(self, run: RunHandle | str) -> RunView:
        __tracebackhide__ = True
        given = cast("object", run)
        key = given.id if isinstance(given, RunHandle) else given
        if not isinstance(key, str):
            raise RunError(
                "unknown_run",
                f"{type(given).__name__} is no run",
                "Give what start(...) returned (awaited, where the workflow is async), or the run's key.",
            )
        view = self._ledger.story(RunId(key))
        if view is None:
            known = ", ".join(repr(str(each.id)) for each in self._ledger.runs()) or "none"
            raise RunError("unknown_run", f"there is no run {key!r} in this store", f"There are: {known}.")
        return view

    def _know(self, tool: str, arguments: Mapping[str, object] = MappingProxyType({})) -> None:
        """A name that nobody has ever heard of is a slip of the pen: nothing could be said about it."""
        __tracebackhide__ = True
        guarded = self._tools()
        known = guarded.keys() | self._ledger.tools()
        if tool not in known:
            raise AssertionError(f"no tool {tool!r} is guarded here; {_mend(tool, known)}")
        if tool in guarded:
            for name in arguments.keys() - set(guarded[tool].parameters.names):
                raise AssertionError(f"{tool} has no argument {name!r}; {_mend(name, guarded[tool].parameters.names)}")

    def _result(self, run: RunHandle | str, view: RunView) -> object:
        if isinstance(run, RunHandle):
            return run.result
        workflow = self.il.guards.resumable.get(view.run.workflow)
        if isinstance(workflow, Workflow):
            return workflow.handle(view.run.id).result
        return plain_value(view.run.result) if view.run.result is not None else None

    def _told(self, view: RunView) -> list[str]:
        return self._ledger.tell(view.run.id)

    def _failure(self, expected: str, found: Iterable[str], then: Iterable[str] = ()) -> AssertionError:
        lines = [f"expected: {expected}", "the ledger has:", *(f"  {line}" for line in found)]
        rest = list(then)
        if rest:
            lines += ["all runs:", *(f"  {line}" for line in rest)]
        return AssertionError("\n".join(lines))


def plain_tool(tool: str) -> str:
    """A tool without its arguments, in a sentence."""
    return f"{tool}(…)"


def _mend(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, names := sorted(known), 1)
    return f"did you mean {str(near[0])!r}?" if near else f"there are: {', '.join(names) or 'none'}"
