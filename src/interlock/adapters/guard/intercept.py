"""From a call to an action and back: what a guarded call does."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, cast

from interlock.adapters.guard import outcomes
from interlock.adapters.guard.asking import Pausing, answered
from interlock.adapters.guard.checks import Checks
from interlock.adapters.guard.drivers import Drivers, Flow, at_once
from interlock.adapters.guard.executing import ACTIVE, Executor, pause_of
from interlock.adapters.guard.frames import Frame, current, entered, pop, push
from interlock.adapters.guard.free import UNCHANGING, Free
from interlock.adapters.guard.places import Called, Join, Named, Pass, Scope
from interlock.adapters.guard.rationale import saying, take
from interlock.adapters.guard.telling import NOTHING, tell
from interlock.adapters.guard.tool import Tool, bind, earlier_forms, encode
from interlock.adapters.guard.waiting import Waiting
from interlock.domain.action import (
    ActionKind,
    ActionRequest,
    ActionState,
    Asking,
    Checked,
    PastCall,
    Rationale,
    arguments_bytes,
)
from interlock.domain.commands import OutcomeKind
from interlock.domain.conversation import NOTHING_SAID
from interlock.domain.decision import Verdict
from interlock.domain.errors import CallError, Diverged, RunError, StoreError
from interlock.domain.ids import ActionId
from interlock.ports.gate import Gate, Standing
from interlock.ports.runtime import Runtime
from interlock.schema import fill

Held = Callable[[], Asking | None]
"""Says whether people are to be asked about a call, and how, whatever the policy would let go by."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that the gate has seen: what was asked, and how it stands."""

    request: ActionRequest
    standing: Standing


class Interceptor:
    """What guarded functions call. One for each `Interlock`."""

    def __init__(self, gate: Gate, runtime: Runtime) -> None:
        self.gate = gate
        self.runtime = runtime
        self.checks = Checks()
        self.executor = Executor(gate, runtime, self.checks)
        self._waiting = Waiting(gate, runtime, self.checks)
        self.drivers = Drivers(runtime.wait_for_change, self._leave)

    # -- the two ways in ------------------------------------------------------------------------

    def call(
        self, tool: Tool, receiver: tuple[object, ...], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> object:
        """A guarded call from synchronous code."""
        frame = self._frame(tool)
        kwargs, said = take(kwargs, saying.get()) if tool.spec.asks_rationale else (kwargs, None)
        types = tool.plain
        plain = types is not None and not kwargs and tuple(map(type, args)) == types
        checked: Checked | None = None
        free_of_charge = self.gate.is_free(tool.spec)
        if free_of_charge and self._screened(frame):
            values = bind(tool, args, kwargs)
            checked = cast("Checked | None", self.drivers.drive(self._screen(tool, frame, values), frame.scope))
        if free_of_charge and checked is None:
            free = Free(tool, frame, frame.scope, args if plain else bind(tool, args, kwargs))
            if free.past is not None:
                return free.answer(self.runtime)
            if not plain:
                args, kwargs = tool.parameters.call_args(cast("Any", free.values))
            token = push(free)
            try:
                value = tool.fn(*receiver, *args, **kwargs)
                if type(value) not in UNCHANGING:
                    at_once(tool, value)
            except Exception as error:
                if not isinstance(error, self.executor.pauses) and free.raised(error):
                    self._record(free)
                raise
            finally:
                pop(token)
            if free.returned(value):
                self._record(free)
            self._tell(free, value)
            return value
        flow = self._gated(tool, frame, bind(tool, args, kwargs), receiver, said, checked)
        return self.drivers.drive(flow, frame.scope)

    async def call_async(
        self, tool: Tool, receiver: tuple[object, ...], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> object:
        """A guarded call from asynchronous code."""
        frame = self._frame(tool)
        kwargs, said = take(kwargs, saying.get()) if tool.spec.asks_rationale else (kwargs, None)
        values = bind(tool, args, kwargs)
        checked: Checked | None = None
        free_of_charge = self.gate.is_free(tool.spec)
        if free_of_charge and self._screened(frame):
            screen = self._screen(tool, frame, values)
            checked = cast("Checked | None", await self.drivers.drive_async(screen, frame.scope))
        if free_of_charge and checked is None:
            free = Free(tool, frame, frame.scope, values)
            if free.past is not None:
                return free.answer(self.runtime)
            args, kwargs = tool.parameters.call_args(values)
            with entered(free):
                try:
                    value = await cast("Any", tool.fn(*receiver, *args, **kwargs))
                except Exception as error:
                    if not isinstance(error, self.executor.pauses) and free.raised(error):
                        self._record(free)
                    raise
            if free.returned(value):
                self._record(free)
            self._tell(free, value)
            return value
        return await self.drivers.drive_async(self._gated(tool, frame, values, receiver, said, checked), frame.scope)

    def ask(self, tool: Tool, values: dict[str, object], asking: Asking) -> object:
        """Ask people; the flow is that of a call which is held whatever happens."""
        frame = self._frame(tool)
        return self.drivers.drive(self._gated(tool, frame, values, (), None, Checked(), asking), frame.scope)

    def pause(self, pausing: Pausing) -> dict[str, object]:
        """Report a pause that is not ours, and wait for its answer as for any decision."""
        frame = self._frame(pausing.tool)
        return cast("dict[str, object]", self.drivers.drive(self._observed(pausing, frame), frame.scope))

    def _screened(self, frame: Frame) -> bool:
        """Whether a call that nobody need be asked about has to be looked at all the same."""
        return bool(self.checks.before) or frame.scope.pass_.grant.run.ticket is not None

    def _screen(self, tool: Tool, frame: Frame, values: dict[str, object]) -> Flow:
        """Whether a free call stays one: None, or what the checks said where it has to be proposed like any other."""
        pass_ = frame.scope.pass_
        encoded = arguments_bytes(encode(tool, values))
        spec = tool.spec
        past = pass_.look_up(
            frame.scope, Called(spec.name, spec.target, encoded, tool.occurrence(values), tool.twin(values))
        )
        if past is not None:
            return None if past.action is None else Checked()
        ticket = pass_.grant.run.ticket
        if ticket is not None and not ticket.covers(spec.name):
            return Checked()
        checked = yield from self.checks.ask(tool, frame.scope, values)
        return checked if checked.objections else None

    def _record(self, free: Free) -> None:
        try:
            self.gate.record(free)
        except StoreError as error:
            raise free.outer.pass_.break_off(free.outer, error)  # noqa: B904  the same error

    def _tell(self, free: Free, value: object) -> None:
        if self.checks.after:
            self.checks.tell(free.spec_tool, free.outer, free.named(), OutcomeKind.DONE, value)

    def _frame(self, tool: Tool) -> Frame:
        frame = current()
        if frame is None:
            raise CallError(
                "outside_run",
                f"{tool.spec.name} was called outside any run, so it was not run",
                "Call it in a workflow or in `with il.run(...)`; hand run.wrap(fn) to threads that you start yourself.",
            )
        if frame.scope.pass_.runtime is not self.runtime:
            raise CallError(
                "other_interlock",
                f"{tool.spec.name} belongs to another Interlock than the run it was called in, so it was not run",
                "Guard tools and start runs with one and the same Interlock.",
            )
        if frame.barred:
            raise CallError(
                "in_check",
                f"{tool.spec.name} was called inside {frame.barred}, so it was not run",
                "Such code looks at a call; have it use functions that are not guarded.",
            )
        frame.scope.check_open()
        return frame

    def _leave(self, scope: Scope, answer: object) -> None:
        """A call was interrupted while the gate answered: leave nothing behind that the code could overlook.

        A claim whose tool never started is given back, rather than left in doubt. What is not over
        pauses the run: code that goes on without it (after a time-out, say) must not.
        """
        if not isinstance(answer, Standing):
            return
        if answer.claim is not None:
            answer = self.gate.give_back(answer.action.id, self.runtime.process, answer.claim.fence).result()
        if answer.action.state in ACTIVE:
            scope.pass_.park(
                scope, pause_of(self.runtime, scope, answer, f"{answer.action.tool} was interrupted and is not over")
            )

    # -- the flow -------------------------------------------------------------------------------

    def _gated(
        self,
        tool: Tool,
        frame: Frame,
        values: dict[str, object],
        receiver: tuple[object, ...],
        said: Rationale | None = None,
        checked: Checked | None = None,
        asking: Asking | None = None,
    ) -> Flow:
        """Propose, and do what the store's answer says until the call has an end."""
        prepared = yield from self.prepare(tool, frame, values, said, checked, asking)
        _, value = yield from self.carry_out(tool, frame, prepared, receiver)
        return value

    def prepare(
        self,
        tool: Tool,
        frame: Frame,
        values: Mapping[str, object],
        said: Rationale | None = None,
        checked: Checked | None = None,
        asking: Asking | None = None,
        named: Named | None = None,
        held: Held | None = None,
    ) -> Generator[Any, Any, Prepared]:
        """Find the call's place, have the team's checks look at it, and propose it.

        `named` is the call's identity where the framework gives it one. `held` is asked once, for a call that is not
        on record: what it answers has the call held.
        """
        request, past = self._place(tool, frame, values, said or saying.get(), asking, named)
        if held is not None and past is None:
            request = replace(request, asking=held())
        if checked is None and past is None:
            checked = yield from self.checks.ask(tool, frame.scope, values)
        if checked is not None and (checked.objections or checked.notes):
            request = replace(request, checked=checked)
        known = past.action if past is not None else None
        return Prepared(request, (yield from self._stand(tool, frame.scope.pass_, request, known, self.gate.propose)))

    def settle_down(self, tool: Tool, frame: Frame, prepared: Prepared) -> Generator[Any, Any, Prepared]:
        """Wait, or pause the run, until the call may be claimed or has ended; claims nothing that people approved."""
        request, standing = prepared.request, prepared.standing
        while standing.claim is None and standing.action.state in ACTIVE:
            action = standing.action
            if not standing.frozen and (
                action.state is ActionState.CLEARED
                or (action.state is ActionState.EXECUTING and action.traits.composite)
            ):
                break
            standing = yield from self._waiting.go_on(tool, frame.scope, request, standing, None)
        return Prepared(request, standing)

    def carry_out(
        self, tool: Tool, frame: Frame, prepared: Prepared, receiver: tuple[object, ...] = ()
    ) -> Generator[Any, Any, tuple[Standing, object]]:
        """Do what the store's answer says until the call has an end: its standing then, and what it returns."""
        pass_, request, standing = frame.scope.pass_, prepared.request, prepared.standing
        cause: BaseException | None = None
        while True:
            if standing.claim is not None:
                standing, cause, value = yield from self.executor.run(
                    tool, frame, request, standing, standing.claim, receiver
                )
                if standing.action.state is ActionState.DONE and cause is None and not standing.action.answered_by:
                    return standing, value
                continue
            if standing.action.state in (ActionState.DONE, ActionState.ROLLBACK_CONFLICT):
                return standing, outcomes.result_of(standing.action, tool.result, self.runtime.blob)
            error = outcomes.ending_error(standing.action, tool.no_effect_on)
            if error is not None:
                raise error from cause
            if pass_.grant.over:
                raise RunError("finished", f"run {pass_.run_id} has finished without {tool.spec.name}")
            standing = yield from self._waiting.go_on(tool, frame.scope, request, standing, cause)

    def _observed(self, pausing: Pausing, frame: Frame) -> Flow:
        """Report the pause, wait for people, and hand their answer over."""
        tool, pass_ = pausing.tool, frame.scope.pass_
        request, past = self._place(tool, frame, pausing.values, saying.get(), pausing.asking)
        if pausing.guarded and past is None:
            checked = yield from self.checks.ask(tool, frame.scope, pausing.values)
            request = replace(request, checked=checked)
        known = past.action if past is not None else None
        standing = yield from self._stand(tool, pass_, request, known, self.gate.report_pause)
        while (answer := self.gate.answer(standing.action.id)) is None:
            why = f"{tool.spec.name} waits for an answer"
            standing = yield from self._waiting.wait_or_park(frame.scope, standing, why, None)
        guarded = pausing.guarded and not self.gate.is_free(tool.spec)
        if guarded and answer.verdict in (Verdict.APPROVE, Verdict.MODIFY):
            # The call that follows is this action: it finds its card and takes its claim.
            told = arguments_bytes(fill(answer.arguments, self.runtime.blob))
            claimed = past is not None and past.state not in (ActionState.HELD, ActionState.CLEARED)
            at = past.scope if past is not None and claimed else None
            pass_.joins[tool.spec.name, tool.spec.target, told] = Join(request.call_key, frame.scope.path, at)
        elif standing.action.state is ActionState.CLEARED and not pass_.grant.over:
            yield self.gate.deliver(standing.action.id, request.process)
        return answered(pausing, answer, lambda tree: fill(tree, self.runtime.blob))

    def _stand(
        self,
        tool: Tool,
        pass_: Pass,
        request: ActionRequest,
        known: ActionId | None,
        ask: Callable[[ActionRequest], Future[Standing]],
    ) -> Generator[Any, Any, Standing]:
        """How a call stands once the gate has seen it; a call that a finished run never made cannot be made now."""
        if not pass_.grant.over:
            try:
                return cast("Standing", (yield ask(request)))
            except Diverged:
                got = outcomes.call_text(tool.spec.name, request.arguments, tool.spec.sensitive)
                raise pass_.diverge(request.unseen, got) from None
        if known is None:
            raise RunError(
                "finished",
                f"run {pass_.run_id} has finished; {tool.spec.name} was not part of it",
                "Give a new job a key of its own.",
            )
        return self.gate.look(known)

    def _place(
        self,
        tool: Tool,
        frame: Frame,
        values: Mapping[str, object],
        said: Rationale,
        asking: Asking | None,
        named: Named | None = None,
    ) -> tuple[ActionRequest, PastCall | None]:
        scope, pass_ = frame.scope, frame.scope.pass_
        encoded, occurrence = encode(tool, values, check=True), tool.occurrence(values)
        data, spec = arguments_bytes(encoded), tool.spec
        pause = asking is not None and asking.kind is ActionKind.OBSERVED
        name = f"pause:{spec.name}" if pause else spec.name  # the call itself comes later, and has a place of its own
        call = Called(name, spec.target, data, occurrence, tool.twin(values))
        joined = None if pause else pass_.joined(scope, call)
        if joined is not None:
            place, missing = joined, None
        elif named is not None:
            place, missing = pass_.place_named(spec.name, named), None
        else:
            place, missing = pass_.place(scope, call, lambda: earlier_forms(tool, values, encoded))
        key, seq, past = place
        new = past is None and (missing is None or pass_.grant.run.accept_divergence) and not pass_.grant.over
        told = tell(tool, encoded) if new else NOTHING
        request = ActionRequest(
            run=pass_.run_id,
            pass_no=pass_.number,
            process=self.runtime.process,
            spec=tool.spec,
            arguments=encoded,
            call_key=key,
            scope=scope.path,
            seq=seq,
            parent=frame.parent,
            inside=frame.inside,
            own_call_id=occurrence is not None or named is not None,
            named=named is not None,
            history=named.history if named is not None else frozenset(),
            conversation=named.conversation() if named is not None and new else NOTHING_SAID,
            known=past is not None,
            unseen=pass_.told(missing) if missing is not None else "",
            rationale=said,
            asking=asking,
            preview=told.preview,
            tool_expects=told.expects,
            slices=told.slices,
        )
        return request, past
