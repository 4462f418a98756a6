"""The hinge: all that an adapter of an agent framework ever sees of the kernel."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from interlock.canonical import Json
from interlock.domain.action import Action, ActionRequest, AgentDecision, Claim
from interlock.domain.commands import Outcome
from interlock.domain.decision import Answer
from interlock.domain.ids import ActionId, CallKey, ProcessId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.tool import ToolSpec


@dataclass(frozen=True, slots=True)
class Standing:
    """How an action stands: its state, its open card if any, and the claim if it was just granted.

    `frozen` names the freeze that keeps a cleared action from being claimed. `busy_until` is set
    while another executor's lease runs: look again then.
    """

    action: Action
    interrupt: Interrupt | None = None
    claim: Claim | None = None
    frozen: str = ""
    busy_until: datetime | None = None


class FreeCall(Protocol):
    """A call that nobody is asked about and that changes nothing, for the record.

    Its parts are read when the record is written, in another thread, once: whoever gives it must not
    change it any more. `failure` is the typed encoding of the exception it raised, or None.
    """

    @property
    def run(self) -> RunId: ...
    @property
    def pass_no(self) -> int: ...
    @property
    def tool(self) -> str: ...
    @property
    def path(self) -> str:
        """The scope that the call was made in."""
        ...

    @property
    def seq(self) -> int: ...
    @property
    def failure(self) -> Json: ...
    @property
    def arguments(self) -> Json: ...
    @property
    def sensitive(self) -> tuple[str, ...]:
        """Paths of the arguments that readers of the record hide."""
        ...

    def call_key(self) -> str: ...
    def outcome(self) -> tuple[Json, bool]:
        """The result's typed encoding, and whether it could be stored."""
        ...


class Gate(Protocol):
    """Propose, park, claim, settle, suspend, report pauses, cancel. Each returns a future.

    In one process the gate is advisory against hostile code: it binds code that calls through it.
    Errors are raised from the future: `CallError` where the call cannot be proposed (nothing is
    recorded), `RunError` `pass_lost` where another executor drives the run by now, `Diverged`.
    """

    def is_free(self, spec: ToolSpec) -> bool:
        """Whether calls of this tool are only recorded: read-only, and no rule asks for more."""
        ...

    def record(self, call: FreeCall) -> None:
        """Buffer the record of a free call; it is durable within 50 ms and before any later proposal."""
        ...

    def propose(self, request: ActionRequest) -> Future[Standing]:
        """Find the call's action, or begin a new one under the policy's ruling.

        Where nobody is asked, the proposal and its claim are one unit: `claim` is then granted.
        """
        ...

    def park(self, action: ActionId, process: ProcessId, why: str = "") -> Future[Standing]:
        """Make sure that the action has an open card if it needs a person (in doubt, for example).

        A card whose time is over is closed.
        """
        ...

    def claim(self, request: ActionRequest, action: ActionId) -> Future[Standing]:
        """Take a cleared action for execution: one winner, committed before the effect.

        Answers without a claim where the action is not, or no longer, cleared.
        """
        ...

    def give_back(self, action: ActionId, process: ProcessId, fence: int, *, paused: bool = False) -> Future[Standing]:
        """Return a claim whose tool was never started: nothing happened, and the action is cleared again.

        `paused` says that it did start, and stopped on purpose to wait for something: it starts anew after that.
        """
        ...

    def settle(self, action: ActionId, process: ProcessId, fence: int, outcome: Outcome) -> Future[Standing]:
        """Report what came of a claim. Telling it twice is fine; a late report is evidence."""
        ...

    def probed(self, action: ActionId, process: ProcessId, happened: bool, result: Outcome | None) -> Future[Standing]:
        """Report what the tool's probe found about an action in doubt."""
        ...

    def suspend(self, action: ActionId, process: ProcessId, fence: int) -> Future[Standing]:
        """Record that a composite action paused inside; it may be entered again."""
        ...

    def cancel(self, run: RunId, by: str, reason: str = "") -> Future[None]:
        """Withdraw everything of the run that has not been claimed, and end it."""
        ...

    def report_pause(self, request: ActionRequest) -> Future[Standing]:
        """Tell of a pause that is not ours: `request.asking` says what people are asked, the rest is its context.

        It is held until people answer, whatever the policy would let go by; no claim is ever granted here. A
        call of ours at the same place (`call_key`) joins it: one card, one claim.
        """
        ...

    def answer(self, action: ActionId) -> Answer | None:
        """What people answered to a pause that was reported; None while they have not."""
        ...

    def deliver(self, action: ActionId, process: ProcessId) -> Future[Standing]:
        """Record that the framework was handed an approval; at most once is not ours to promise there."""
        ...

    def note(self, decision: AgentDecision) -> None:
        """Buffer the record of what an agent decided by itself, as `record` does."""
        ...

    def find(self, run: RunId, call: CallKey) -> Action | None:
        """The action that a call of a run became, if it became one."""
        ...

    def look(self, action: ActionId) -> Standing:
        """How the action stands in the store now."""
        ...
