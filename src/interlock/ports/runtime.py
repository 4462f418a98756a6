"""What an adapter needs to drive runs: enter, leave, wait."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from interlock.canonical import Json
from interlock.domain.action import Versions
from interlock.domain.decision import Decision
from interlock.domain.ids import ActionId, ProcessId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.run import PassGrant, PassReport, Run, Ticket


class Runtime(Protocol):
    """Passes of runs. A run is driven by one process at a time; the store decides which."""

    @property
    def process(self) -> ProcessId:
        """This process as registered with the store; registers it (and its heartbeat) at first use."""
        ...

    def holds_lease(self) -> bool:
        """Whether this process has not been silent for longer than its lease; asked between a claim and its effect."""
        ...

    def new_run(self) -> RunId:
        """A fresh id for a run that nobody gave a key."""
        ...

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
        soon: bool = False,
    ) -> Future[PassGrant]:
        """Start the run, or go on with it: the grant holds what earlier passes did.

        With `thread` the run is one input of that conversation: a new one ends the one before it (what was held
        there is superseded), one that has finished is gone on with, and `input` is kept for workers, not compared.
        With `soon` a new run of a thread that is at nothing is recorded with what is proposed in it next: for callers
        who propose something at once.

        Raises `RunError`: `busy` while another live process drives it, `cancelled`, `diverged`,
        `other_input` where the run exists with another workflow or input.
        """
        ...

    def leave(self, run: RunId, pass_no: int, report: PassReport, *, soon: bool = False) -> Future[Run]:
        """End the pass. Where something was decided meanwhile, the run is due again at once.

        With `soon` the end is recorded with whatever this process records next, within 50 ms: for callers who do not
        wait for the future. `run` and `unended_run` know of it at once.
        """
        ...

    def finish(self, run: RunId) -> None:
        """End a run that goes on outside any pass (`PassEnd.BETWEEN`), soon; any other stays as it is."""
        ...

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
        """Record a run and hand it to the workers without entering it here."""
        ...

    def run(self, run: RunId) -> Run | None: ...

    def run_key(self, run: RunId) -> bytes:
        """The run's own secret, by which its calls are named (`call_key`)."""
        ...

    def unended_run(self, agent: str, thread: str) -> Run | None:
        """What the agent's thread is at: its newest run that has neither finished nor been cancelled."""
        ...

    def open_cards(self, run: RunId) -> tuple[Interrupt, ...]: ...

    def decisions(self, run: RunId) -> tuple[tuple[str, Decision], ...]:
        """Decisions of the run in order, each with its tool's name."""
        ...

    def decisions_about(self, action: ActionId) -> tuple[Decision, ...]:
        """Decisions about one action, in order."""
        ...

    def wait_for_change(self, timeout: float) -> bool:
        """Block until something may have changed, at most `timeout` seconds."""
        ...

    def arguments(self, action: ActionId) -> Json:
        """The stored arguments of the action's current revision, typed encoding."""
        ...

    def shown(self, action: ActionId) -> Json:
        """The same as people may see them: what the tool declares as sensitive is hidden."""
        ...

    def blob(self, digest: str) -> bytes:
        """The bytes of a stored blob; raises `CallError` `blob_missing`."""
        ...

    def put_blobs(self, tree: Json) -> Json:
        """Replace values over 64 KiB by references to content-addressed blobs, stored durably."""
        ...

    def url(self, interrupt: Interrupt) -> str:
        """Where a person can see the card, or "" where no server runs."""
        ...
