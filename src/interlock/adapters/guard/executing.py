"""Executes a tool under a claim, and settles what came of it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

from interlock.adapters.guard import outcomes
from interlock.adapters.guard.checks import Checks
from interlock.adapters.guard.drivers import Ended, Execute, PausedInside
from interlock.adapters.guard.frames import Frame, running_task
from interlock.adapters.guard.places import Scope
from interlock.adapters.guard.sensitive import said as reason_of
from interlock.adapters.guard.tool import Tool
from interlock.domain.action import Action, ActionRequest, ActionState, Claim
from interlock.domain.commands import OutcomeKind
from interlock.domain.errors import InterlockError, Interrupted, NoEffect, StoreError
from interlock.domain.lifecycle import MAX_TRIES
from interlock.domain.tool import Reversibility
from interlock.ports.gate import Gate, Standing
from interlock.ports.runtime import Runtime
from interlock.schema import SchemaError, encode_exception, fill

ACTIVE = (ActionState.HELD, ActionState.CLEARED, ActionState.EXECUTING, ActionState.IN_DOUBT)
"""States in which an action still has something coming."""


def pause_of(runtime: Runtime, scope: Scope, standing: Standing, why: str) -> Interrupted:
    """The pause of a run at an action as it stands."""
    card = standing.interrupt
    return Interrupted(
        why,
        run=scope.pass_.run_id,
        interrupts=(card.id,) if card is not None and card.open else (),
        digest=card.digest if card is not None else None,
        url=runtime.url(card) if card is not None else "",
    )


class Executor:
    """Runs the bodies of tools. One for each interceptor.

    `pauses` are what frameworks raise in a body to pause on purpose: the body begins anew once that is answered.
    """

    def __init__(self, gate: Gate, runtime: Runtime, checks: Checks) -> None:
        self._gate = gate
        self._runtime = runtime
        self._checks = checks
        self.pauses: tuple[type[BaseException], ...] = (PausedInside,)

    def run(
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
            outcome = outcomes.failed(OutcomeKind.FAILED, encode_exception(NoEffect(words)))
            return (
                cast("Standing", (yield self._gate.settle(action.id, request.process, claim.fence, outcome))),
                None,
                None,
            )
        if not self._runtime.holds_lease():
            # This process stood still since its claim (stopped, asleep): by now others may be at it.
            return cast("Standing", (yield self._gate.give_back(action.id, request.process, claim.fence))), None, None
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
            yield self._gate.suspend(action.id, request.process, claim.fence)
            raise error if error is not None and not isinstance(error, Exception) else paused or Interrupted("paused")
        if isinstance(error, self.pauses):
            yield self._gate.give_back(action.id, request.process, claim.fence, paused=True)
            pass_.put_off(request.call_key)
            raise error
        interrupting = error is not None and not isinstance(error, Exception)
        if error is None or ended.returned:
            outcome = outcomes.done(tool.result, ended.value, self._runtime.put_blobs)
        else:
            told = pass_.unsaid.failure(tool.spec, error, lambda: fill(claim.arguments, self._runtime.blob))
            outcome = outcomes.failed(self._kind(tool, error, claim), told)
        try:
            settled = cast("Standing", (yield self._gate.settle(action.id, request.process, claim.fence, outcome)))
        except InterlockError as unsaid:
            # The effect may have happened and cannot be recorded: nothing more runs here. The gate tells it again
            # as soon as it can; where it cannot before the pass ends, the action is in doubt.
            if isinstance(unsaid, StoreError):
                pass_.break_off(frame.scope, unsaid)
            pause = Interrupted(f"what {action.tool} did could not be recorded ({unsaid})", run=pass_.run_id)
            raise pass_.park(frame.scope, pause) from (error or unsaid)
        if self._checks.after:
            ran = tool.parameters.decode(fill(claim.arguments, self._runtime.blob))
            self._checks.tell(tool, frame.scope, ran, outcome.kind, ended.value)
        if interrupting and error is not None:
            # Ctrl-C and cancellation go on as themselves once they are recorded; the run does not, in doubt.
            if settled.action.state in ACTIVE:
                pass_.park(
                    frame.scope,
                    pause_of(self._runtime, frame.scope, settled, f"it is not known whether {action.tool} happened"),
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
        values = tool.parameters.decode(fill(claim.arguments, self._runtime.blob))
        if action.revision > 1:
            # A person's edit meets the tool's own validators here; what they would change was not approved.
            checked = tool.parameters.validate(values)
            if tool.parameters.encode(checked) != tool.parameters.encode(values):
                raise SchemaError(
                    "args", "the tool's own validation would change the edited arguments", "arguments_invalid"
                )
        hidden = {tool.spec.idempotency_key: claim.idempotency_key} if tool.spec.idempotency_key else None
        return tool.parameters.call_args(values, hidden)
