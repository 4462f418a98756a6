"""From a call to an action and back: what a guarded call does."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, cast

from interlock.adapters.plain import outcomes
from interlock.adapters.plain.asking import take
from interlock.adapters.plain.drivers import Drivers, Ended, Execute, Flow, Pause, at_once
from interlock.adapters.plain.free import UNCHANGING, Free
from interlock.adapters.plain.places import Frame, Pass, Scope, current, entered, pop, push, running_task
from interlock.adapters.plain.probing import ask
from interlock.adapters.plain.sensitive import said as reason_of
from interlock.adapters.plain.telling import NOTHING, shown_anew, tell
from interlock.adapters.plain.tool import Tool, bind, earlier_forms, encode
from interlock.domain.action import Action, ActionRequest, ActionState, Claim, Rationale, arguments_bytes
from interlock.domain.commands import Outcome, OutcomeKind
from interlock.domain.errors import CallError, Diverged, InterlockError, Interrupted, NoEffect, RunError, StoreError
from interlock.domain.ids import ActionId
from interlock.domain.lifecycle import MAX_TRIES, may_rerun
from interlock.domain.tool import Reversibility
from interlock.ports.gate import Gate, Standing
from interlock.ports.runtime import Runtime
from interlock.schema import SchemaError, fill

ACTIVE = (ActionState.HELD, ActionState.CLEARED, ActionState.EXECUTING, ActionState.IN_DOUBT)
"""States in which an action still has something coming."""

POLL_S = 1.0
"""The slow poll behind every wake-up hint, in seconds."""


class Interceptor:
    """What guarded functions call. One for each `Interlock`."""

    def __init__(self, gate: Gate, runtime: Runtime, rationale: Callable[[], Rationale]) -> None:
        self.gate = gate
        self.runtime = runtime
        self._rationale = rationale
        self._drivers = Drivers(runtime.wait_for_change, self._leave)

    # -- the two ways in ------------------------------------------------------------------------

    def call(
        self, tool: Tool, receiver: tuple[object, ...], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> object:
        """A guarded call from synchronous code."""
        frame = self._frame(tool)
        kwargs, said = take(kwargs, self._rationale()) if tool.spec.asks_rationale else (kwargs, None)
        types = tool.plain
        plain = types is not None and not kwargs and tuple(map(type, args)) == types
        if self.gate.is_free(tool.spec):
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
                if free.raised(error):
                    self._record(free)
                raise
            finally:
                pop(token)
            if free.returned(value):
                self._record(free)
            return value
        return self._drivers.drive(self._gated(tool, frame, bind(tool, args, kwargs), receiver, said), frame.scope)

    async def call_async(
        self, tool: Tool, receiver: tuple[object, ...], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> object:
        """A guarded call from asynchronous code."""
        frame = self._frame(tool)
        kwargs, said = take(kwargs, self._rationale()) if tool.spec.asks_rationale else (kwargs, None)
        values = bind(tool, args, kwargs)
        if self.gate.is_free(tool.spec):
            free = Free(tool, frame, frame.scope, values)
            if free.past is not None:
                return free.answer(self.runtime)
            args, kwargs = tool.parameters.call_args(values)
            with entered(free):
                try:
                    value = await cast("Any", tool.fn(*receiver, *args, **kwargs))
                except Exception as error:
                    if free.raised(error):
                        self._record(free)
                    raise
            if free.returned(value):
                self._record(free)
            return value
        return await self._drivers.drive_async(self._gated(tool, frame, values, receiver, said), frame.scope)

    def _record(self, free: Free) -> None:
        try:
            self.gate.record(free)
        except StoreError as error:
            raise free.outer.pass_.break_off(free.outer, error)  # noqa: B904  the same error

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
            scope.pass_.park(scope, self._pause(scope, answer, f"{answer.action.tool} was interrupted and is not over"))

    def _pause(self, scope: Scope, standing: Standing, why: str) -> Interrupted:
        card = standing.interrupt
        return Interrupted(
            why,
            run=scope.pass_.run_id,
            interrupts=(card.id,) if card is not None and card.open else (),
            digest=card.digest if card is not None else None,
            url=self.runtime.url(card) if card is not None else "",
        )

    # -- the flow -------------------------------------------------------------------------------

    def _gated(
        self,
        tool: Tool,
        frame: Frame,
        values: dict[str, object],
        receiver: tuple[object, ...],
        said: Rationale | None = None,
    ) -> Flow:
        """Propose, and do what the store's answer says until the call has an end."""
        pass_ = frame.scope.pass_
        request, known = self._place(tool, frame, values, said or self._rationale())
        if pass_.grant.over:
            standing = self._look_back(tool, pass_, known)
        else:
            try:
                standing = cast("Standing", (yield self.gate.propose(request)))
            except Diverged:
                got = outcomes.call_text(tool.spec.name, request.arguments, tool.spec.sensitive)
                raise pass_.diverge(request.unseen, got) from None
        cause: BaseException | None = None
        while True:
            if standing.claim is not None:
                standing, cause, value = yield from self._run(tool, frame, request, standing, standing.claim, receiver)
                if standing.action.state is ActionState.DONE and cause is None and not standing.action.answered_by:
                    return value
                continue
            if standing.action.state in (ActionState.DONE, ActionState.ROLLBACK_CONFLICT):
                return outcomes.result_of(standing.action, tool.result, self.runtime.blob)
            error = outcomes.ending_error(standing.action, tool.no_effect_on)
            if error is not None:
                raise error from cause
            if pass_.grant.over:
                raise RunError("finished", f"run {pass_.run_id} has finished without {tool.spec.name}")
            standing = yield from self._go_on(tool, frame.scope, request, standing, cause)

    def _look_back(self, tool: Tool, pass_: Pass, known: ActionId | None) -> Standing:
        """How a call of a finished run stands; a call that it never made cannot be made now."""
        if known is None:
            raise RunError(
                "finished",
                f"run {pass_.run_id} has finished; {tool.spec.name} was not part of it",
                "Give a new job a key of its own.",
            )
        return self.gate.look(known)

    def _place(
        self, tool: Tool, frame: Frame, values: Mapping[str, object], said: Rationale
    ) -> tuple[ActionRequest, ActionId | None]:
        scope, pass_ = frame.scope, frame.scope.pass_
        encoded, occurrence = encode(tool, values, check=True), tool.occurrence(values)
        key, seq, past, missing = pass_.place(
            scope,
            tool.spec.name,
            tool.spec.target,
            arguments_bytes(encoded),
            occurrence,
            lambda: earlier_forms(tool, values, encoded),
        )
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
            own_call_id=occurrence is not None,
            unseen=pass_.told(missing) if missing is not None else "",
            rationale=said,
            preview=told.preview,
            tool_expects=told.expects,
            slices=told.slices,
        )
        return request, past.action if past is not None else None

    def _go_on(
        self, tool: Tool, scope: Scope, request: ActionRequest, standing: Standing, cause: BaseException | None
    ) -> Generator[Any, Any, Standing]:
        """One step for an action that is not over: claim it, probe it, wait, or pause the run."""
        action = standing.action
        if standing.frozen:
            return (
                yield from self._wait_or_park(
                    scope,
                    standing,
                    f"everything of this {standing.frozen} is frozen"
                    if standing.frozen != "all"
                    else "everything is frozen",
                    cause,
                )
            )
        if action.state is ActionState.CLEARED or (action.state is ActionState.EXECUTING and action.traits.composite):
            return cast("Standing", (yield self.gate.claim(shown_anew(tool, request, action, self.runtime), action.id)))
        if action.state is ActionState.HELD:
            return (yield from self._wait_or_park(scope, standing, f"{action.tool} waits for a decision", cause))
        if action.state is ActionState.EXECUTING:
            yield from self._idle(scope, standing, POLL_S)
            return self.gate.look(action.id)
        # In doubt: rerun it if that is harmless, ask the tool's probe, else ask a person; who was asked answers.
        asked = standing.interrupt is not None and standing.interrupt.open
        if may_rerun(action) and not asked:
            return cast("Standing", (yield self.gate.claim(request, action.id)))
        if tool.probe is not None and not asked:
            found = self._ask_probe(tool, action)
            # Like any rerun, one that the probe allows is tried so often and no more; then a person is asked.
            if found is not None and (found[0] or action.tries < MAX_TRIES):
                happened, outcome = found
                return cast("Standing", (yield self.gate.probed(action.id, request.process, happened, outcome)))
        parked = cast(
            "Standing",
            (yield self.gate.park(action.id, request.process, f"it is not known whether {action.tool} happened")),
        )
        return (yield from self._wait_or_park(scope, parked, f"it is not known whether {action.tool} happened", cause))

    def _wait_or_park(
        self, scope: Scope, standing: Standing, why: str, cause: BaseException | None
    ) -> Generator[Any, Any, Standing]:
        """Hold the caller for as long as `wait=` allows, then pause the run."""
        pass_, pause = scope.pass_, self._pause(scope, standing, why)
        if pass_.wait_left() > 0:
            pass_.announce()
        while (left := pass_.wait_left()) > 0:
            yield from self._idle(scope, standing, min(left, POLL_S))
            now = self.gate.look(standing.action.id)
            if now.action != standing.action:
                return now
        raise pass_.park(scope, pause) from cause

    def _idle(self, scope: Scope, standing: Standing, seconds: float) -> Generator[Any, Any, None]:
        """Wait for a change; a caller that does not want to wait any longer pauses the run by that."""
        try:
            yield Pause(seconds)
        except BaseException:
            scope.pass_.park(scope, self._pause(scope, standing, f"nobody waits any longer for {standing.action.tool}"))
            raise

    def _run(
        self,
        tool: Tool,
        frame: Frame,
        request: ActionRequest,
        standing: Standing,
        claim: Claim,
        receiver: tuple[object, ...],
    ) -> Generator[Any, Any, tuple[Standing, BaseException | None, object]]:
        """Execute under a claim and settle it. Answers the new standing, what was raised, and the live value."""
        action, pass_ = standing.action, frame.scope.pass_
        try:
            args, kwargs = self._arguments(tool, claim, action)
        except SchemaError as error:
            words = f"the stored arguments no longer fit {action.tool}: {reason_of(tool.spec, error)}"
            outcome = outcomes.failed(OutcomeKind.FAILED, NoEffect(words))
            return (
                cast("Standing", (yield self.gate.settle(action.id, request.process, claim.fence, outcome))),
                None,
                None,
            )
        if not self.runtime.holds_lease():
            # This process stood still since its claim (stopped, asleep): by now others may be at it.
            return cast("Standing", (yield self.gate.give_back(action.id, request.process, claim.fence))), None, None
        inner = Frame(
            Scope(pass_, pass_.inner_path(frame.scope, action.tool, action.call_key), frame.scope),
            inside=frame.inside if tool.spec.composite else action.tool,
            parent=action.id,
            task=running_task(),
        )
        ended = cast("Ended", (yield Execute(tool, (*receiver, *args), kwargs, inner)))
        error, paused = ended.error, inner.scope.closed
        if tool.spec.composite and (paused or (error is not None and not isinstance(error, Exception))):
            # It paused inside (whatever swallowed that), or was interrupted: it may be entered again.
            yield self.gate.suspend(action.id, request.process, claim.fence)
            raise error if error is not None and not isinstance(error, Exception) else paused or Interrupted("paused")
        interrupting = error is not None and not isinstance(error, Exception)
        if error is None or ended.returned:
            outcome = outcomes.done(tool.result, ended.value, self.runtime.put_blobs)
        else:
            outcome = outcomes.failed(self._kind(tool, error, claim), error)
        try:
            settled = cast("Standing", (yield self.gate.settle(action.id, request.process, claim.fence, outcome)))
        except InterlockError as unsaid:
            # The effect may have happened and cannot be recorded: nothing more runs here. The gate tells it again
            # as soon as it can; where it cannot before the pass ends, the action is in doubt.
            if isinstance(unsaid, StoreError):
                pass_.break_off(frame.scope, unsaid)
            pause = Interrupted(f"what {action.tool} did could not be recorded ({unsaid})", run=pass_.run_id)
            raise pass_.park(frame.scope, pause) from (error or unsaid)
        if interrupting and error is not None:
            # Ctrl-C and cancellation go on as themselves once they are recorded; the run does not, in doubt.
            if settled.action.state in ACTIVE:
                pass_.park(
                    frame.scope, self._pause(frame.scope, settled, f"it is not known whether {action.tool} happened")
                )
            raise error
        if error is not None and settled.action.state is ActionState.FAILED:
            raise error
        return settled, error, ended.value

    def _kind(self, tool: Tool, error: BaseException, claim: Claim) -> OutcomeKind:
        """An exception is not "did not happen", unless the tool says so or has nothing to happen.

        A reversible tool that raised every time it was tried has failed: the agent should see its error, and a
        person need not be asked about what can be undone anyway.
        """
        kind = tool.spec.reversibility
        harmless = tool.spec.composite or kind is Reversibility.READ_ONLY
        exhausted = kind is Reversibility.REVERSIBLE and claim.tries >= MAX_TRIES
        if isinstance(error, (NoEffect, *tool.no_effect_on)):
            return OutcomeKind.FAILED
        return OutcomeKind.FAILED if isinstance(error, Exception) and (harmless or exhausted) else OutcomeKind.IN_DOUBT

    def _arguments(self, tool: Tool, claim: Claim, action: Action) -> tuple[tuple[object, ...], dict[str, object]]:
        """The arguments to execute: the stored ones, whatever the code passed this time."""
        values = tool.parameters.decode(fill(claim.arguments, self.runtime.blob))
        if action.revision > 1:
            # A person's edit meets the tool's own validators here; what they would change was not approved.
            checked = tool.parameters.validate(values)
            if tool.parameters.encode(checked) != tool.parameters.encode(values):
                raise SchemaError(
                    "args", "the tool's own validation would change the edited arguments", "arguments_invalid"
                )
        hidden = {tool.spec.idempotency_key: claim.idempotency_key} if tool.spec.idempotency_key else None
        return tool.parameters.call_args(values, hidden)

    def _ask_probe(self, tool: Tool, action: Action) -> tuple[bool, Outcome | None] | None:
        """Ask the tool's probe whether it happened; None where it cannot tell (or raises)."""
        return ask(tool, self.runtime.arguments(action.id), f"{action.id}.{action.revision}", self.runtime)
