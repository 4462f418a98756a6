"""`Gate` and `Runtime` over HTTP: what an agent's process holds where its store is a server's."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from interlock.canonical import Json
from interlock.client.transport import Transport
from interlock.domain.action import Action, ActionRequest, AgentDecision, Versions
from interlock.domain.commands import Outcome
from interlock.domain.decision import Answer, Decision
from interlock.domain.errors import InterlockError, RunError, StoreError
from interlock.domain.ids import ActionId, CallKey, ProcessId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.run import PassGrant, PassReport, Process, Run, Ticket
from interlock.domain.tool import ToolSpec
from interlock.kernel.ids import IdSequence
from interlock.kernel.process import Heartbeat, born
from interlock.ports.gate import FreeCall, Standing
from interlock.schema import spill
from interlock.wire.agents import Entering, FreeCallRecord, Told
from interlock.wire.operations import AGENTS

T = TypeVar("T")
_OPERATIONS = {each.name: each for each in AGENTS}
BLOB_LIMIT = 64 * 1024
SOON_S = 0.05
"""Records that nobody waits for are sent within so long."""
MOST_RECORDS = 500


class RemoteGate:
    """The gate of a server. Every future it answers is resolved already: a request has been made and answered.

    Rulings are the server's. A process that loses the server for longer than its lease loses what it held, as if it
    had died. Records of free calls that could not be sent are lost with the process, as in one process.
    """

    def __init__(self, transport: Transport, *, lease_s: float = 30.0) -> None:
        self._transport = transport
        self._lease_s = lease_s
        self._ids = IdSequence()
        self._registering = threading.Lock()
        self._process: ProcessId | None = None
        self._heartbeat: Heartbeat | None = None
        self._beaten = 0.0
        self._records = threading.Lock()
        self._calls: list[FreeCall] = []
        self._decisions: list[AgentDecision] = []
        self._timer: threading.Timer | None = None
        self._free: dict[int, tuple[ToolSpec, bool]] = {}

    def _ask(self, operation: str, **given: Any) -> Any:
        return self._transport.call(_OPERATIONS[operation], **given)

    def _told(self, operation: str, **given: Any) -> Future[Any]:
        """The answer of an operation that follows what was recorded before."""
        return _at_once(lambda: (self._flush(), self._ask(operation, **given))[1])

    # -- the process ----------------------------------------------------------------------------------

    @property
    def process(self) -> ProcessId:
        """This process as registered with the server; registers it, and starts its heartbeat, at first use."""
        if self._process is None:
            with self._registering:
                if self._process is None:
                    began = time.monotonic()
                    pid = os.getpid()
                    made: Process = self._ask(
                        "attach", host=socket.gethostname(), pid=pid, born=born(pid), lease_s=self._lease_s
                    )
                    self._process, self._beaten = made.id, began
                    self._heartbeat = Heartbeat(self.beat, self._lease_s / 3)
        return self._process

    def beat(self) -> None:
        """Renew the lease; a process that lost it is registered anew, without what it held."""
        if self._process is None:
            return
        began = time.monotonic()
        try:
            self._ask("beat", process=self._process)
        except RunError as error:
            if error.code == "process_lost":
                self._forget()
            raise
        self._beaten = began

    def _forget(self) -> None:
        with self._registering:
            self._process = None
            if self._heartbeat is not None:
                self._heartbeat.stop()

    def holds_lease(self) -> bool:
        if time.monotonic() - self._beaten < self._lease_s:
            return True
        try:
            self.beat()
        except InterlockError:
            return False
        return True

    # -- runs -----------------------------------------------------------------------------------------

    def new_run(self) -> RunId:
        return RunId(self._ids())

    def enter(
        self,
        run: RunId,
        *,
        agent: str,
        workflow: str = "",
        input: bytes | None = None,
        owner: str = "",
        versions: Versions = Versions(),
        ticket: Ticket | None = None,
        thread: str = "",
        soon: bool = False,  # noqa: ARG002  a request is a request
    ) -> Future[PassGrant]:
        entering = Entering(agent, workflow, input, owner, versions, ticket, thread)

        def attempt() -> PassGrant:
            try:
                return cast("PassGrant", self._ask("enter", process=self.process, run=run, entering=entering))
            except RunError as error:
                if error.code != "process_lost":
                    raise
                self._forget()
                return cast("PassGrant", self._ask("enter", process=self.process, run=run, entering=entering))

        return _at_once(attempt)

    def leave(self, run: RunId, pass_no: int, report: PassReport, *, soon: bool = False) -> Future[Run]:  # noqa: ARG002
        return self._told("leave", process=self.process, run=run, pass_no=pass_no, report=report)

    def finish(self, run: RunId) -> None:
        self._flush()
        self._ask("finish", run=run)

    def create(
        self,
        run: RunId,
        *,
        agent: str,
        workflow: str,
        input: bytes,
        owner: str = "",
        versions: Versions = Versions(),
        ticket: Ticket | None = None,
    ) -> Future[Run]:
        return self._told("create", run=run, entering=Entering(agent, workflow, input, owner, versions, ticket))

    def run(self, run: RunId) -> Run | None:
        return cast("Run | None", self._ask("run", run=run))

    def run_key(self, run: RunId) -> bytes:
        return cast("bytes", self._ask("run_key", run=run))

    def unended_run(self, agent: str, thread: str) -> Run | None:
        return cast("Run | None", self._ask("unended_run", agent=agent, thread=thread))

    def open_cards(self, run: RunId) -> tuple[Interrupt, ...]:
        return cast("tuple[Interrupt, ...]", self._ask("open_cards", run=run))

    def decisions(self, run: RunId) -> tuple[tuple[str, Decision], ...]:
        told = cast("tuple[Told, ...]", self._ask("decisions", run=run))
        return tuple((each.tool, each.decision) for each in told)

    def decisions_about(self, action: ActionId) -> tuple[Decision, ...]:
        return cast("tuple[Decision, ...]", self._ask("decisions_about", action=action))

    def cancel(self, run: RunId, by: str, reason: str = "") -> Future[None]:  # noqa: ARG002  the key says who
        return _at_once(lambda: (self._flush(), self._ask("cancel", run=run, reason=reason), None)[2])

    def wait_for_change(self, timeout: float) -> bool:
        """Ask the server to answer when something changes; where it is away, only wait."""
        try:
            return bool(self._ask("changes", wait=timeout))
        except StoreError as error:
            if error.code != "server_away":
                raise
            return False

    # -- actions --------------------------------------------------------------------------------------

    def is_free(self, spec: ToolSpec) -> bool:
        kept = self._free.get(id(spec))
        if kept is None or kept[0] is not spec:
            kept = self._free[id(spec)] = (spec, bool(self._ask("is_free", spec=spec)))
        return kept[1]

    def propose(self, request: ActionRequest) -> Future[Standing]:
        return self._told("propose", process=request.process, request=request)

    def report_pause(self, request: ActionRequest) -> Future[Standing]:
        return self._told("report_pause", process=request.process, request=request)

    def claim(self, request: ActionRequest, action: ActionId) -> Future[Standing]:
        return self._told("claim", process=request.process, action=action, request=request)

    def park(self, action: ActionId, process: ProcessId, why: str = "") -> Future[Standing]:
        return self._told("park", process=process, action=action, why=why)

    def give_back(self, action: ActionId, process: ProcessId, fence: int, *, paused: bool = False) -> Future[Standing]:
        return self._told("give_back", process=process, action=action, fence=fence, paused=paused)

    def settle(self, action: ActionId, process: ProcessId, fence: int, outcome: Outcome) -> Future[Standing]:
        return self._told("settle", process=process, action=action, fence=fence, outcome=outcome)

    def probed(self, action: ActionId, process: ProcessId, happened: bool, result: Outcome | None) -> Future[Standing]:
        return self._told("probed", process=process, action=action, happened=happened, result=result)

    def suspend(self, action: ActionId, process: ProcessId, fence: int) -> Future[Standing]:
        return self._told("suspend", process=process, action=action, fence=fence)

    def deliver(self, action: ActionId, process: ProcessId) -> Future[Standing]:
        return self._told("deliver", process=process, action=action)

    def answer(self, action: ActionId) -> Answer | None:
        return cast("Answer | None", self._ask("answer", action=action))

    def find(self, run: RunId, call: CallKey) -> Action | None:
        return cast("Action | None", self._ask("find", run=run, call=call))

    def look(self, action: ActionId) -> Standing:
        return cast("Standing", self._ask("look", action=action))

    def arguments(self, action: ActionId) -> Json:
        return cast("Json", self._ask("arguments", action=action))

    def shown(self, action: ActionId) -> Json:
        return cast("Json", self._ask("shown", action=action))

    def blob(self, digest: str) -> bytes:
        return cast("bytes", self._ask("blob", digest=digest))

    def put_blobs(self, tree: Json) -> Json:
        small, blobs = spill(tree, BLOB_LIMIT, lambda data: cast("str", self._ask("put_blob", data=data)))
        del blobs  # kept by then
        return small

    def url(self, interrupt: Interrupt) -> str:
        return f"{self._transport.url}/i/{interrupt.id}"

    # -- records that nobody waits for ----------------------------------------------------------------

    def record(self, call: FreeCall) -> None:
        self._later(self._calls, call)

    def note(self, decision: AgentDecision) -> None:
        self._later(self._decisions, decision)

    def _later(self, kept: list[Any], record: object) -> None:
        with self._records:
            kept.append(record)
            full = len(kept) >= MOST_RECORDS
            if self._timer is None:
                self._timer = threading.Timer(SOON_S, self._quietly)
                self._timer.daemon = True
                self._timer.start()
        if full:
            self._flush()

    def _quietly(self) -> None:
        try:
            self._flush()
        except InterlockError:
            return  # they are kept, and sent before whatever is proposed next

    def _flush(self) -> None:
        """Send what was recorded; it stays where that fails."""
        with self._records:
            self._timer = None
            calls, decisions = list(self._calls), list(self._decisions)
            if not calls and not decisions:
                return
            sent = [_recorded(call) for call in calls]
            self._ask("record", calls=[each for each in sent if each is not None], decisions=decisions)
            del self._calls[: len(calls)], self._decisions[: len(decisions)]

    def close(self) -> None:
        """Send what waits, say that this process ends, and end the connection."""
        try:
            self._flush()
            if self._process is not None:
                self._ask("detach", process=self._process)
        except InterlockError:
            pass  # the lease will tell
        finally:
            if self._heartbeat is not None:
                self._heartbeat.stop()
            self._transport.close()


def _recorded(call: FreeCall) -> FreeCallRecord | None:
    """A free call as data; None for one that no document can hold: it is asked again another time."""
    try:
        (result, stored), key = call.outcome(), call.call_key()
        return FreeCallRecord(
            call.run,
            call.pass_no,
            call.tool,
            call.path,
            call.seq,
            key,
            call.arguments,
            result,
            stored,
            call.failure,
            call.sensitive,
        )
    except (ValueError, InterlockError):
        return None


def _at_once(call: Callable[[], T]) -> Future[T]:
    """A future that holds what the call answers or raises."""
    future: Future[T] = Future()
    try:
        future.set_result(call())
    except InterlockError as error:
        future.set_exception(error)
    return future
