"""What a guarded call does while it cannot simply go on: claim, probe, wait for people, pause the run."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

from interlock.adapters.guard.checks import Checks
from interlock.adapters.guard.drivers import Pause
from interlock.adapters.guard.executing import pause_of
from interlock.adapters.guard.places import Scope
from interlock.adapters.guard.probing import ask
from interlock.adapters.guard.telling import shown_anew
from interlock.adapters.guard.tool import Tool
from interlock.domain.action import Action, ActionRequest, ActionState
from interlock.domain.commands import Outcome
from interlock.domain.lifecycle import MAX_TRIES, may_rerun
from interlock.ports.gate import Gate, Standing
from interlock.ports.runtime import Runtime

POLL_S = 1.0
"""The slow poll behind every wake-up hint, in seconds."""


class Waiting:
    """The steps between a proposal and its claim or its end. One for each interceptor."""

    def __init__(self, gate: Gate, runtime: Runtime, checks: Checks) -> None:
        self._gate = gate
        self._runtime = runtime
        self._checks = checks

    def go_on(
        self, tool: Tool, scope: Scope, request: ActionRequest, standing: Standing, cause: BaseException | None
    ) -> Generator[Any, Any, Standing]:
        """One step for an action that is not over: claim it, probe it, wait, or pause the run."""
        action = standing.action
        if standing.frozen:
            return (
                yield from self.wait_or_park(
                    scope,
                    standing,
                    f"everything of this {standing.frozen} is frozen"
                    if standing.frozen != "all"
                    else "everything is frozen",
                    cause,
                )
            )
        if action.state is ActionState.CLEARED:
            request = yield from self._checks.ask_again(tool, scope, request, action, self._runtime)
        if action.state is ActionState.CLEARED or (action.state is ActionState.EXECUTING and action.traits.composite):
            return cast(
                "Standing", (yield self._gate.claim(shown_anew(tool, request, action, self._runtime), action.id))
            )
        if action.state is ActionState.HELD:
            return (yield from self.wait_or_park(scope, standing, f"{action.tool} waits for a decision", cause))
        if action.state is ActionState.EXECUTING:
            yield from self._idle(scope, standing, POLL_S)
            return self._gate.look(action.id)
        # In doubt: rerun it if that is harmless, ask the tool's probe, else ask a person; who was asked answers.
        asked = standing.interrupt is not None and standing.interrupt.open
        if may_rerun(action) and not asked:
            return cast("Standing", (yield self._gate.claim(request, action.id)))
        if tool.probe is not None and not asked:
            found = self._ask_probe(tool, action)
            # Like any rerun, one that the probe allows is tried so often and no more; then a person is asked.
            if found is not None and (found[0] or action.tries < MAX_TRIES):
                happened, outcome = found
                return cast("Standing", (yield self._gate.probed(action.id, request.process, happened, outcome)))
        parked = cast(
            "Standing",
            (yield self._gate.park(action.id, request.process, f"it is not known whether {action.tool} happened")),
        )
        if parked.action.state is not ActionState.IN_DOUBT:
            return parked  # somebody was quicker and found out: no card is open, and nobody would wake the run
        return (yield from self.wait_or_park(scope, parked, f"it is not known whether {action.tool} happened", cause))

    def wait_or_park(
        self, scope: Scope, standing: Standing, why: str, cause: BaseException | None
    ) -> Generator[Any, Any, Standing]:
        """Hold the caller for as long as `wait=` allows, then pause the run."""
        pass_, pause = scope.pass_, pause_of(self._runtime, scope, standing, why)
        if pass_.wait_left() > 0:
            pass_.announce()
        while (left := pass_.wait_left()) > 0:
            yield from self._idle(scope, standing, min(left, POLL_S))
            now = self._gate.look(standing.action.id)
            if now.action != standing.action:
                return now
        raise pass_.park(scope, pause) from cause

    def _idle(self, scope: Scope, standing: Standing, seconds: float) -> Generator[Any, Any, None]:
        """Wait for a change; a caller that does not want to wait any longer pauses the run by that."""
        try:
            yield Pause(seconds)
        except BaseException:
            scope.pass_.park(
                scope, pause_of(self._runtime, scope, standing, f"nobody waits any longer for {standing.action.tool}")
            )
            raise

    def _ask_probe(self, tool: Tool, action: Action) -> tuple[bool, Outcome | None] | None:
        """Ask the tool's probe whether it happened; None where it cannot tell (or raises)."""
        return ask(tool, self._runtime.arguments(action.id), f"{action.id}.{action.revision}", self._runtime)
