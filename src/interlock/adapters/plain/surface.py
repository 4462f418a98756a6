"""What users write: tool, guard, declare, workflow, run, step, scope, rationale."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar, Unpack, cast, overload

from interlock.adapters.guard.guards import Guards
from interlock.adapters.guard.rationale import model_schema, saying
from interlock.adapters.guard.tool import (
    Duration,
    Hints,
    Keywords,
    ReversibilityName,
    Tool,
    duration,
    make_tool,
    name_of,
)
from interlock.adapters.plain.intercept import stand_in
from interlock.adapters.plain.people import People
from interlock.adapters.plain.resume import Driver, RunContext, Workflow, current_run, named_scope, return_of, run_id
from interlock.adapters.plain.tickets import TicketTerms, ticket_of
from interlock.domain.action import Rationale, Versions
from interlock.domain.decision import Decision
from interlock.domain.errors import SettingsError
from interlock.domain.run import Run, Ticket
from interlock.domain.tool import ToolSpec
from interlock.ports.gate import Gate
from interlock.ports.runtime import Runtime
from interlock.schema import Parameters, SchemaError

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class PlainAdapter(People):
    """The plain-Python face over a gate and a runtime.

    `check` looks at a declaration as a whole and raises `SettingsError`; `announce` is told of every run
    that pauses; `wait` is the default of
    `wait=`, in seconds.
    """

    def __init__(
        self,
        gate: Gate,
        runtime: Runtime,
        *,
        agent: str,
        versions: Versions,
        owner: str,
        check: Callable[[ToolSpec], None],
        announce: Callable[[Run], None] = lambda _: None,
        wait: Duration = 0,
    ) -> None:
        self.guards = Guards(gate, runtime, agent=agent, versions=versions, owner=owner, check=check)
        super().__init__(self.guards)
        self._driver = Driver(runtime, agent, versions, owner, announce, self._refuse_unknown)
        self._wait = wait
        self._steps: weakref.WeakKeyDictionary[Any, Tool] = weakref.WeakKeyDictionary()

    # -- tools ----------------------------------------------------------------------------------

    def tool(self, reversibility: ReversibilityName | None = None, **keywords: Unpack[Hints]) -> Callable[[F], F]:
        """Guard a function or method: `@il.tool("irreversible")`. Its calls then go through the gate.

        The result has the same signature; the way round it (`__wrapped__`) is taken away.
        """
        if callable(reversibility):
            raise SettingsError(
                "missing_reversibility",
                "@il.tool needs to know how far the tool can be taken back",
                'Write @il.tool("irreversible"), for example.',
            )
        given = {**keywords, **({"reversibility": reversibility} if reversibility is not None else {})}
        return lambda fn: cast("F", self._guarded(fn, given))

    @overload
    def guard(self, tools: F, **keywords: Unpack[Keywords]) -> F: ...
    @overload
    def guard(self, tools: Mapping[str, F], **keywords: Unpack[Keywords]) -> dict[str, F]: ...
    @overload
    def guard(self, tools: Iterable[F], **keywords: Unpack[Keywords]) -> list[F]: ...
    def guard(self, tools: Any, **keywords: Unpack[Keywords]) -> Any:
        """Guard one callable or LangChain tool, or each of a list or dict of them; declarations by name apply.

        What nobody declared is treated as irreversible, and its card says so.
        """
        if isinstance(tools, Mapping):
            named = cast("Mapping[str, Callable[..., Any]]", tools)
            return {name: self._guarded(fn, {"name": name, **keywords}) for name, fn in named.items()}
        made = self.guards.of_a_framework(tools, keywords)
        if made is not None:
            return made
        if callable(tools):
            return self._guarded(tools, keywords)
        if isinstance(tools, Iterable) and not isinstance(tools, (str, bytes)):
            return [self._guarded(fn, keywords) for fn in cast("Iterable[Callable[..., Any]]", tools)]
        raise SettingsError(
            "not_callable",
            f"il.guard cannot guard {type(tools).__name__}",
            "Give it callables, or a list or dict of them.",
        )

    def declare(self, declarations: Iterable[Mapping[str, Any]]) -> None:
        """Take the plain annotations that teams keep beside their tool schemas, a dict a tool.

        They apply to tools guarded later under the same name. Keys of a tool schema (`parameters`,
        `input_schema`, …) may be there and decide nothing.
        """
        self.guards.declare(declarations)

    def schema(self, tool: Callable[..., Any] | str) -> dict[str, Any]:
        """The JSON schema of what a model may give to a guarded tool, or to the tool of that name.

        With `ask_rationale=True` that is the arguments and the agent's reasons.
        """
        found = self.guards.tools.get(tool) if isinstance(tool, str) else self.guards.stand_ins.tool_of(tool)
        if found is None:
            raise SettingsError(
                "unknown_tool", f"no tool {tool!r} is guarded here"[:200], "Give it a guarded tool, or the name of one."
            )
        return model_schema(found.spec)

    def _guarded(self, fn: Callable[..., Any], keywords: Mapping[str, Any]) -> Callable[..., Any]:
        if isinstance(fn, staticmethod):
            return cast("Any", staticmethod(self._guarded(cast("Any", fn).__func__, keywords)))
        if self.guards.stand_ins.has(fn, keywords):
            return fn
        made = self.guards.of_a_framework(fn, keywords)
        if made is not None:
            return made
        if not callable(fn):
            raise SettingsError(
                "not_callable",
                f"{fn!r} is not callable"[:200],
                "Put the decorator under @classmethod."
                if isinstance(fn, classmethod)
                else "Guard functions, methods or callable objects.",
            )
        said = self.guards.keywords(str(keywords.get("name") or name_of(fn)), keywords)
        tool = self.guards.take(make_tool(fn, said))
        guarded = stand_in(self._interceptor, tool)
        self.guards.stand_ins.add(guarded, tool, said)
        return guarded

    # -- runs -----------------------------------------------------------------------------------

    @overload
    def workflow(self, fn: Callable[..., Any]) -> Workflow: ...
    @overload
    def workflow(
        self, *, name: str = ..., agent: str = ..., ticket: TicketTerms | None = ...
    ) -> Callable[[Callable[..., Any]], Workflow]: ...
    def workflow(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        name: str = "",
        agent: str = "",
        ticket: TicketTerms | None = None,
    ) -> Any:
        """Make a function a workflow: any worker that has it can resume its runs.

        `ticket` says what each of its runs may do at all: `tools` by name, how many `actions`, their `cost`
        together, and its `life`. What goes beyond is refused, whatever policy and people say.
        """
        allowed = ticket_of(ticket)
        if fn is None:

            def named(fn: Callable[..., Any]) -> Workflow:
                return self._workflow(fn, name, agent, allowed)

            return named
        return self._workflow(fn, name, agent, allowed)

    def _workflow(self, fn: Callable[..., Any], name: str, agent: str, ticket: Ticket | None) -> Workflow:
        named = name or fn.__name__
        try:
            parameters = Parameters.of(fn)
        except SchemaError as error:
            raise SettingsError(
                "not_storable",
                f"workflow {named}: {error.path}: {error.reason}",
                "Annotate it with a type that can be stored.",
            ) from error
        taken = sorted({"key", "wait"} & set(parameters.names))
        if taken:
            raise SettingsError(
                "reserved_parameter",
                f"workflow {named} has a parameter {taken[0]}, which start(...) takes for itself",
                "Give the parameter another name.",
            )
        made = Workflow(
            self._driver,
            fn,
            named,
            agent or self.guards.agent,
            parameters,
            return_of(fn),
            inspect.iscoroutinefunction(fn),
            self._wait_s,
            ticket,
        )
        self.guards.resumes(named, made)
        return made

    def run(
        self, key: str, *, wait: Duration | None = None, agent: str = "", ticket: TicketTerms | None = None
    ) -> RunContext:
        """`with il.run("order-42"):` (or `async with`): the block is one pass of the run of that key.

        `ticket`: see `workflow`. It is the run's from its start; a later pass does not change it.
        """
        return RunContext(self._driver, run_id(key), self._wait_s(wait), agent, ticket_of(ticket))

    def _wait_s(self, wait: Duration | None) -> float:
        given = duration("run", "wait", {"wait": self._wait if wait is None else wait})
        return (given or timedelta()).total_seconds()

    def step(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `fn` and journal its result: later passes get it from the record instead of calling again.

        For what is not deterministic and changes nothing: a model call, the time, a random number.
        Await it where `fn` is asynchronous. The result must be storable.
        """
        tool = self._step_tool(fn)
        if tool.is_async:
            return cast("T", self._interceptor.call_async(tool, (), args, kwargs))
        return cast("T", self._interceptor.call(tool, (), args, kwargs))

    def _step_tool(self, fn: Callable[..., Any]) -> Tool:
        try:
            return self._steps[fn]
        except (KeyError, TypeError):
            tool = make_step(fn)
            with suppress(TypeError):  # not every callable can be remembered
                self._steps[fn] = tool
            return tool

    def notes(self) -> tuple[tuple[str, Decision], ...]:
        """What people have decided in the current run so far, in order, each with the tool it was about.

        A decision's `note` is what the reviewer wrote to the agent; it can come with any verdict.
        """
        return self._driver.runtime.decisions(current_run())

    def scope(self, name: str) -> AbstractContextManager[None]:
        """Name a block of the run; for concurrent branches whose order is not certain."""
        return named_scope(name)

    @contextmanager
    def rationale(
        self,
        reasoning: str = "",
        *,
        confidence: float | None = None,
        uncertainty: Sequence[str] = (),
        considered: Sequence[str] = (),
        expected: str = "",
    ) -> Generator[None]:
        """Say why: what the agent gives as its reason for the calls in this block. Shown as the agent's words."""
        token = saying.set(Rationale(reasoning, confidence, tuple(uncertainty), tuple(considered), expected))
        try:
            yield
        finally:
            saying.reset(token)

    # -- engines --------------------------------------------------------------------------------

    def resume(self, run: Run) -> Run:
        """Go on with a run of a workflow known here; raises `SettingsError` for any other."""
        return self.guards.resume(run)


def make_step(fn: Callable[..., Any]) -> Tool:
    """A journalled step as a tool: read-only, matched by its arguments as far as they can be stored."""
    name = f"step:{getattr(fn, '__qualname__', type(fn).__name__)}".replace("<locals>.", "")
    declaration: Keywords = {"name": name, "reversibility": "read_only"}
    try:
        made = make_tool(fn, declaration)
    except SettingsError as error:
        raise SettingsError(
            error.code,
            error.message,
            "Give the step only what can be stored, for example il.step(lambda: fn(client, text)).",
        ) from error
    return replace(made, must_store=True)
