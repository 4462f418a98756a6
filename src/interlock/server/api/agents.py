"""What an agent asks of the server, on behalf of one agent: runs and actions of others are not there for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from interlock.domain.action import Action, ActionRequest, AgentDecision
from interlock.domain.commands import Outcome
from interlock.domain.decision import Answer, Decision
from interlock.domain.errors import CallError, RunError
from interlock.domain.ids import ActionId, CallKey, ProcessId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.run import PassGrant, PassReport, Process, Run
from interlock.domain.tool import ToolSpec
from interlock.kernel.attached import AttachedGate
from interlock.ports.gate import Standing
from interlock.wire.agents import Entering, FreeCallRecord, Told

if TYPE_CHECKING:
    from interlock.kernel import Kernel
    from interlock.schema import Json

MOST_PROCESSES = 1_000
LONGEST_LEASE_S = 36_500 * 86_400.0


class Attached:
    """The gates of processes elsewhere, the last thousand of them; a forgotten one is made again from its row."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._gates: OrderedDict[ProcessId, AttachedGate] = OrderedDict()

    def add(self, gate: AttachedGate) -> None:
        """Remember a gate."""
        self._gates[gate.process] = gate
        while len(self._gates) > MOST_PROCESSES:
            self._gates.popitem(last=False)

    def of(self, process: ProcessId) -> AttachedGate:
        """The gate of a process; raises `RunError` `process_lost` where it is not known."""
        gate = self._gates.get(process) or self._kernel.attached(process)
        if gate is None:
            raise RunError("process_lost", f"no process {process} is attached", "Attach it, and enter the run again.")
        self.add(gate)
        return gate


@dataclass(frozen=True, slots=True)
class AgentDoor:
    """`AgentApi` for the holder of an agent's key."""

    kernel: Kernel
    processes: Attached
    agent: str
    wait: Callable[[float], bool]

    # -- processes ------------------------------------------------------------------------------------

    def attach(self, host: str, pid: int, born: str, lease_s: float) -> Process:
        if not 0 < lease_s <= LONGEST_LEASE_S:
            raise CallError(
                "bad_request", f"lease_s: a lease of {lease_s:g} s cannot be kept", "Use seconds, for example 30."
            )
        gate = self.kernel.attach(f"{self.agent}@{host}"[:200], pid, born[:200], lease_s)
        self.processes.add(gate)
        found = self.kernel.store.read(lambda rows: rows.process(gate.process))
        assert found is not None, "it was just written"
        return found

    def beat(self, process: ProcessId) -> bool:
        self.processes.of(process).beat()
        return True

    def detach(self, process: ProcessId) -> bool:
        self.processes.of(process).close()
        return True

    # -- runs -----------------------------------------------------------------------------------------

    def enter(self, process: ProcessId, run: RunId, entering: Entering) -> PassGrant:
        gate = self.processes.of(process)
        gate.living_process()
        self._named(entering.agent)
        self._known(run)
        given = {
            "workflow": entering.workflow,
            "input": entering.input,
            "owner": entering.owner,
            "versions": entering.versions,
            "ticket": entering.ticket,
            "thread": entering.thread,
        }
        return gate.enter(run, agent=entering.agent, **given).result()  # type: ignore[arg-type]

    def create(self, run: RunId, entering: Entering) -> Run:
        self._named(entering.agent)
        self._known(run)
        return self.kernel.create(
            run,
            agent=entering.agent,
            workflow=entering.workflow,
            input=entering.input or b"",
            owner=entering.owner,
            versions=entering.versions,
            ticket=entering.ticket,
        ).result()

    def leave(self, process: ProcessId, run: RunId, pass_no: int, report: PassReport) -> Run:
        self._mine(run)
        return self.processes.of(process).leave(run, pass_no, report).result()

    def finish(self, run: RunId) -> bool:
        self._mine(run)
        self.kernel.finish(run)
        return True

    def run(self, run: RunId) -> Run | None:
        return self._known(run)

    def run_key(self, run: RunId) -> bytes:
        self._mine(run)
        return self.kernel.run_key(run)

    def unended_run(self, agent: str, thread: str) -> Run | None:
        self._named(agent)
        return self.kernel.unended_run(agent, thread)

    def open_cards(self, run: RunId) -> tuple[Interrupt, ...]:
        self._mine(run)
        return self.kernel.open_cards(run)

    def decisions(self, run: RunId) -> tuple[Told, ...]:
        self._mine(run)
        return tuple(Told(tool, decision) for tool, decision in self.kernel.decisions(run))

    def cancel(self, run: RunId, reason: str = "") -> bool:
        self._mine(run)
        self.kernel.cancel(run, f"agent:{self.agent}", reason).result()
        return True

    # -- actions --------------------------------------------------------------------------------------

    def is_free(self, spec: ToolSpec) -> bool:
        return self.kernel.is_free(spec)

    def record(self, calls: list[FreeCallRecord], decisions: list[AgentDecision]) -> bool:
        for call in calls:
            self._mine(call.run)
        for decision in decisions:
            self._named(decision.agent)
            if decision.run is not None:
                self._mine(decision.run)
        for call in calls:
            self.kernel.record(Recorded(call))
        for decision in decisions:
            self.kernel.note(decision)
        self.kernel.store.flush()
        return True

    def propose(self, process: ProcessId, request: ActionRequest) -> Standing:
        return self.processes.of(process).propose(self._asked(process, request)).result()

    def report_pause(self, process: ProcessId, request: ActionRequest) -> Standing:
        return self.processes.of(process).report_pause(self._asked(process, request)).result()

    def claim(self, process: ProcessId, action: ActionId, request: ActionRequest) -> Standing:
        self._action(action)
        gate = self.processes.of(process)
        gate.living_process()
        return gate.claim(self._asked(process, request), action).result()

    def park(self, process: ProcessId, action: ActionId, why: str = "") -> Standing:
        self._action(action)
        return self.kernel.park(action, process, why).result()

    def give_back(self, process: ProcessId, action: ActionId, fence: int, paused: bool = False) -> Standing:
        self._action(action)
        return self.kernel.give_back(action, process, fence, paused=paused).result()

    def settle(self, process: ProcessId, action: ActionId, fence: int, outcome: Outcome) -> Standing:
        self._action(action)
        return self.kernel.settle(action, process, fence, outcome).result()

    def probed(self, process: ProcessId, action: ActionId, happened: bool, result: Outcome | None = None) -> Standing:
        self._action(action)
        return self.kernel.probed(action, process, happened, result).result()

    def suspend(self, process: ProcessId, action: ActionId, fence: int) -> Standing:
        self._action(action)
        return self.kernel.suspend(action, process, fence).result()

    def deliver(self, process: ProcessId, action: ActionId) -> Standing:
        self._action(action)
        return self.kernel.deliver(action, process).result()

    def find(self, run: RunId, call: CallKey) -> Action | None:
        self._mine(run)
        return self.kernel.find(run, call)

    def look(self, action: ActionId) -> Standing:
        self._action(action)
        return self.kernel.look(action)

    def answer(self, action: ActionId) -> Answer | None:
        self._action(action)
        return self.kernel.answer(action)

    def arguments(self, action: ActionId) -> Json:
        self._action(action)
        return self.kernel.arguments(action)

    def shown(self, action: ActionId) -> Json:
        self._action(action)
        return self.kernel.shown(action)

    def decisions_about(self, action: ActionId) -> tuple[Decision, ...]:
        self._action(action)
        return self.kernel.decisions_about(action)

    # -- the rest -------------------------------------------------------------------------------------

    def blob(self, digest: str) -> bytes:
        return self.kernel.blob(digest)

    def put_blob(self, data: bytes) -> str:
        return self.kernel.put_blob(data)

    def changes(self, wait: float = 0.0) -> bool:
        return self.wait(wait)

    # -- whose it is ----------------------------------------------------------------------------------

    def _asked(self, process: ProcessId, request: ActionRequest) -> ActionRequest:
        self._mine(request.run)
        return replace(request, process=process)

    def _named(self, agent: str) -> None:
        if agent != self.agent:
            raise CallError(
                "other_agent", f"this key is the agent {self.agent}'s, not {agent}'s", "Use the key of that agent."
            )

    def _known(self, run: RunId) -> Run | None:
        found = self.kernel.run(run)
        if found is not None:
            self._named(found.agent)
        return found

    def _mine(self, run: RunId) -> Run:
        found = self._known(run)
        if found is None:
            raise RunError("unknown_run", f"there is no run {run}", "Enter it first.")
        return found

    def _action(self, action: ActionId) -> None:
        found = self.kernel.store.read(lambda rows: rows.action(action))
        if found is None:
            raise CallError("unknown_action", f"there is no action {action}", "Propose it first.")
        self._named(found.agent)


@dataclass(frozen=True, slots=True)
class Recorded:
    """`ports.gate.FreeCall` over what was sent."""

    call: FreeCallRecord

    @property
    def run(self) -> RunId:
        return self.call.run

    @property
    def pass_no(self) -> int:
        return self.call.pass_no

    @property
    def tool(self) -> str:
        return self.call.tool

    @property
    def path(self) -> str:
        return self.call.path

    @property
    def seq(self) -> int:
        return self.call.seq

    @property
    def failure(self) -> Json:
        return self.call.failure

    @property
    def arguments(self) -> Json:
        return self.call.arguments

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.call.sensitive

    def call_key(self) -> str:
        return self.call.key

    def outcome(self) -> tuple[Json, bool]:
        return self.call.result, self.call.stored
