"""What code says to people beside calling tools: ask, hand over, tell of a pause, note what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, TypeGuard, TypeVar, cast, overload

from interlock.adapters.guard.asking import (
    asking_question,
    handoff_tool,
    one_of,
    pausing,
    question_tool,
)
from interlock.adapters.guard.checks import make_check, refuse_unknown
from interlock.adapters.guard.frames import current
from interlock.adapters.guard.guards import Guards
from interlock.adapters.guard.places import Called
from interlock.adapters.guard.tool import Duration, bind, duration
from interlock.domain.action import AgentDecision, arguments_bytes
from interlock.domain.errors import CallError, StoreError
from interlock.schema import Json, codec_for, encode_result

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

LONGEST_LIFE = timedelta(days=366)
"""No card stays open longer."""

LONGEST_QUESTION = 4_000
"""Characters of a question or of a task that is handed over."""


class People:
    """The part of an `Interlock` that speaks to people rather than to tools."""

    def __init__(self, guards: Guards) -> None:
        self.guards = guards
        self._gate = guards.gate
        self._interceptor = guards.interceptor
        self._agent = guards.agent

    @overload
    def question(self, text: str, kind: type[T], *, context: object = ..., expires_in: Duration = ...) -> T: ...
    @overload
    def question(
        self, text: str, *, options: Sequence[str] = ..., context: object = ..., expires_in: Duration = ...
    ) -> str: ...
    def question(
        self,
        text: str,
        kind: object = str,
        *,
        options: Sequence[str] | None = None,
        context: object = None,
        expires_in: Duration | None = None,
    ) -> Any:
        """Ask a person, and pause the run until they answer: `il.question("How many copies?", int)`.

        The answer is of type `kind`, or one of `options`; `context` is shown with the question. It is recorded once:
        code that runs again gets it without asking. Raises `Refused` where a person will not answer
        (`rejected`, `redirected`) or nobody did in time (`expired`, after 24 h where `expires_in` says nothing else).
        """
        _text("question", text)
        if options is not None and kind is not str:
            raise CallError("bad_options", "a question has a type or options, not both", "Leave one of them out.")
        tool = question_tool(kind if options is None else one_of(options), in_context=context is not None)
        values = bind(tool, (), {"question": text, **({"context": context} if context is not None else {})})
        span = _life("question", expires_in)
        return self._interceptor.ask(tool, values, asking_question(text, span))

    def observed_pause(
        self,
        name: str,
        payload: object = None,
        *,
        options: Sequence[str] = (),
        tool: Callable[..., Any] | None = None,
        expires_in: Duration | None = None,
        on_expiry: str = "reject",
    ) -> dict[str, object]:
        """Show a pause that a framework makes by itself, and answer with what people said.

        `payload` is what it shows, `options` the words it takes. With `tool`, a guarded callable, the payload is the
        arguments of the call that the framework is about to make: that call then joins this card, so that one
        person decides once and the effect is claimed once. Without it Interlock only passes the answer on, and the
        card says so: what the framework does with it is not ours to prevent.

        Returns `{"decision": …, "reason": …, "by": …}`, with `modified_action` (all arguments by name) where they were
        changed and `value` where a person gave one. Where nobody answers in time the decision is `on_expiry`, with
        `ended` saying so.
        """
        _text("name of a pause", name)
        guarded = None
        if tool is not None:
            guarded = self.guards.stand_ins.tool_of(tool)
            if guarded is None:
                raise CallError(
                    "not_guarded", f"{tool!r:.100} is not guarded here", "Guard it first, or leave tool= out."
                )
        span = _life("observed_pause", expires_in)
        reported = pausing(name, payload, options, guarded, span, on_expiry)
        bound = bind(reported.tool, (), reported.values)
        return self._interceptor.pause(reported.with_values(bound))

    def handoff(self, to: str, task: str, *, details: object = None, perform: Callable[[], T] | None = None) -> T:
        """Hand a task to another agent or to people: held until a person has seen it, and on record.

        An approval lets `perform` run, which may pause inside like any composite tool; its result is the result.
        A person can take the task over by answering with the result instead. Without `perform` an approval
        answers None: the code that follows does what was agreed.
        """
        _text("addressee", to)
        _text("task", task)
        if perform is not None and not callable(cast("object", perform)):
            raise CallError("not_callable", f"perform={perform!r:.60} cannot be called", "Give it a function.")
        tool = handoff_tool(perform, with_details=details is not None)
        given: dict[str, object] = {"to": to, "task": task, **({"details": details} if details is not None else {})}
        if tool.is_async:
            return cast("T", self._interceptor.call_async(tool, (), (), given))
        return cast("T", self._interceptor.call(tool, (), (), given))

    def record_decision(
        self, kind: str, *, inputs: object = None, considered: Iterable[object] = (), chosen: object = None,
        because: str = "",
    ) -> None:  # fmt: skip
        """Put a decision that the agent makes by itself into the ledger. Nobody is asked, and nothing pauses.

        Values that cannot be stored are described. In a run, code that runs again does not record the same
        decision twice; outside any run each call is one record.
        """
        _text("kind of decision", kind)
        said: dict[str, Json] = {
            "inputs": _kept(inputs), "considered": _listed(considered), "chosen": _kept(chosen),
            "because": because.encode("utf-8", "backslashreplace").decode() if _is_text(because) else _kept(because),
        }  # fmt: skip
        said = {name: value for name, value in said.items() if value not in (None, "", [])}
        data = arguments_bytes({"kind": kind, **said})
        frame = current()
        if frame is None:
            self._gate.note(AgentDecision(self._agent, kind, said))
            return
        pass_ = frame.scope.pass_
        (key, seq, past), _ = pass_.place(frame.scope, Called(f"decision:{kind}", "", data))
        if past is None and not pass_.grant.over:
            agent, run = pass_.grant.run.agent, pass_.run_id
            try:
                self._gate.note(AgentDecision(agent, kind, said, run, pass_.number, frame.scope.path, seq, key))
            except StoreError as error:
                raise pass_.break_off(frame.scope, error)  # noqa: B904  the same error

    @overload
    def before(self, fn: F) -> F: ...
    @overload
    def before(self, *, tools: Iterable[str] | None = ..., within: Duration | None = ...) -> Callable[[F], F]: ...
    def before(self, fn: Any = None, *, tools: Iterable[str] | None = None, within: Duration | None = None) -> Any:
        """Have a function look at every call (of `tools`) before people are asked: `@il.before`.

        It gets a `Call` and may `hold`, `deny` or `note`; it returns None. One that raises, or does not answer
        `within` its time, holds the call. It runs in the caller's thread, or in one of its own where it has a
        time or is asynchronous; it runs again in each pass until the call has run.
        """
        return self._register("before", fn, tools, within)

    @overload
    def after(self, fn: F) -> F: ...
    @overload
    def after(self, *, tools: Iterable[str] | None = ...) -> Callable[[F], F]: ...
    def after(self, fn: Any = None, *, tools: Iterable[str] | None = None) -> Any:
        """Have a function told what came of every call (of `tools`) that ran: `fn(call, outcome, result)`.

        `outcome` is `done`, `failed` or `in_doubt`. It observes: what it raises is logged and changes nothing.
        """
        return self._register("after", fn, tools, None)

    def _refuse_unknown(self) -> None:
        checks = self._interceptor.checks
        refuse_unknown((*checks.before, *checks.after), self.guards.tools)

    def _register(self, where: Literal["before", "after"], fn: Any, tools: Any, within: Duration | None) -> Any:
        kept = self._interceptor.checks.before if where == "before" else self._interceptor.checks.after
        span = duration(f"il.{where}", "within", {"within": within})

        def register(fn: Any) -> Any:
            kept.append(make_check(fn, where, tools, span))
            return fn

        return register if fn is None else register(fn)


def _text(what: str, given: object) -> None:
    if not _is_text(given) or not given.strip() or len(given) > LONGEST_QUESTION or not _can_be_kept(given):
        raise CallError(
            "bad_text", f"the {what} is {given!r:.60}", f"Give 1 to {LONGEST_QUESTION:,} characters of text."
        )


def _is_text(given: object) -> TypeGuard[str]:
    return isinstance(given, str)


def _can_be_kept(text: str) -> bool:
    return text == text.encode("utf-8", "replace").decode()


def _life(what: str, given: Duration | None) -> timedelta | None:
    """How long a card stays open, as tools may say it: more than nothing, at most a year."""
    span = duration(what, "expires_in", {"expires_in": given})
    if span is not None and not timedelta(0) < span <= LONGEST_LIFE:
        raise CallError(
            "bad_life", f"{what}: expires_in={given!r:.60} is no time to wait", "Use more than 0 and at most 366 days."
        )
    return span


_ANY = codec_for(Any)


def _kept(value: object) -> Json:
    """A value as it is kept; what cannot be stored is described."""
    return encode_result(_ANY, value)[0]


def _listed(values: object) -> list[Json]:
    """What was considered; a single thing is a list of one."""
    single = isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable)
    return [_kept(cast("object", values))] if single else [_kept(each) for each in cast("Iterable[object]", values)]
