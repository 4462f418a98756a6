"""What this process is to the store: one that holds passes and claims for as long as its heart beats."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from interlock.domain.errors import InterlockError
from interlock.domain.ids import ActionId, ProcessId, RunId
from interlock.domain.run import PassGrant, Process, Run
from interlock.kernel.ids import IdSequence
from interlock.kernel.process import Heartbeat, born, host, seen_dead
from interlock.policy import PolicySet
from interlock.ports.store import Rows, Store, Unit
from interlock.usecases import processes

A = TypeVar("A")

logger = logging.getLogger("interlock.kernel")


class Holder:
    """The store and this process as an executor of it. Safe to call from any thread.

    `lease_s` is how long this process may be silent before its claims are in doubt, in seconds.
    """

    def __init__(self, store: Store, policy: PolicySet, *, lease_s: float = 30.0) -> None:
        self.store = store
        self.policy = policy
        self._lease_s = lease_s
        self.ids = IdSequence()
        self._registering = threading.Lock()
        self._process: ProcessId | None = None
        self._heartbeat: Heartbeat | None = None
        self._beaten = 0.0
        self._passes = threading.Lock()
        self._runs: dict[RunId, Run] = {}
        self._entering: Counter[RunId] = Counter()
        self._undoing: set[ActionId] = set()
        self._soon: Future[Any] | None = None

    def write_soon(self, unit: Unit[A]) -> Future[A]:
        """Write in company, without anybody waiting for it; what becomes of it is logged if it fails."""
        written = self._soon = self.store.write_soon(unit)
        written.add_done_callback(_log_failure)
        return written

    def say_soon(self) -> None:
        """Have everything written that was given to `write_soon`."""
        soon = self._soon
        if soon is not None and not soon.done():
            self.store.flush()

    def snapshot(self, query: Callable[[Rows], A]) -> A:
        """Answer a query about runs: what this process said of them before is there."""
        self.say_soon()
        return self.store.read(query)

    @property
    def process(self) -> ProcessId:
        """This process as the store knows it; registers it, and starts its heartbeat, at first use."""
        if self._process is None:
            with self._registering:
                if self._process is None:
                    now = datetime.now(UTC)
                    row = Process(
                        ProcessId(self.ids()), host(), os.getpid(), born(os.getpid()), now, now, self._lease_s
                    )
                    self._beaten = _instant()
                    self._process = self.store.write(processes.register(row, self.ids)).result().id
                    self._heartbeat = Heartbeat(self.beat, self._lease_s / 3)
        return self._process

    def living_process(self) -> ProcessId:
        """`process` under a lease that still runs: after a silence that was too long it is registered anew.

        What it held before is lost to it, as it would be to a process that had died.
        """
        process = self.process
        row, now = self.store.read(lambda rows: (rows.process(process), rows.now))
        if row is not None and row.alive(now):
            return process
        with self._registering:
            if self._process == process:
                self._process = None
                if self._heartbeat is not None:
                    self._heartbeat.stop()
        return self.process

    def holds_lease(self) -> bool:
        """Whether this process still has its lease: asked once more before an effect.

        Its own clock answers while the last beat is young enough, else the store does, by another beat.
        """
        if _instant() - self._beaten < self._lease_s:
            return True
        try:
            self.beat()
        except InterlockError:
            return False
        return True

    def beat(self) -> None:
        """Renew the lease of everything that this process executes."""
        if self._process is not None:
            now = _instant()
            self.store.write(processes.beat(self._process, self.ids)).result()
            self._beaten = now
            self.give_up_strays()

    def entering(self, run: RunId) -> None:
        """Note that a pass of the run is about to begin here, before the store knows of it."""
        with self._passes:
            self._entering[run] += 1

    def entered(self, run: RunId, grant: PassGrant | None) -> None:
        """Note what came of it: the pass that began, or none."""
        with self._passes:
            self._entering[run] -= 1
            self._entering += Counter()  # forgets what is nought
            if grant is not None and not grant.over:
                self._runs[run] = grant.run

    def left(self, run: RunId, pass_no: int) -> None:
        """Note that the pass has ended."""
        with self._passes:
            known = self._runs.get(run)
            if known is not None and known.pass_no == pass_no:
                del self._runs[run]

    def driven(self, run: RunId) -> Run | None:
        """The run as it was when its pass under way here began."""
        return self._runs.get(run)

    def drives(self, run: RunId) -> bool:
        """Whether this process has a pass of the run under way, or is just entering it."""
        with self._passes:
            return run in self._runs or run in self._entering

    def give_up_strays(self) -> int:
        """End passes and rollbacks that the store holds for this process's and it knows nothing of; answers how many.

        Their beginning or their end could not be told, because the store failed or the caller was interrupted.
        """
        mine = self._process
        if mine is None:
            return 0
        held = self.store.read(lambda rows: processes.held_by(rows, mine))
        strays = [(run, pass_no) for run, pass_no in held.passes if not self.drives(run)]
        undone = [action for action in held.rollbacks if action not in self._undoing]
        if not strays and not undone:
            return 0
        return self.store.write(processes.give_up(mine, processes.Held(strays, undone), self.ids)).result()

    def bury_dead(self) -> int:
        """Put in doubt what gone processes held: dead on this host, or silent past their lease; answers how many."""
        self.give_up_strays()
        known, now = self.store.read(lambda rows: (rows.processes(), rows.now))
        dead = [row.id for row in known if row.id != self._process and seen_dead(row.host, row.pid, row.born)]
        if not dead and all(row.alive(now) for row in known):
            return 0
        return self.store.write(processes.bury(dead, self.ids)).result()

    def close(self) -> None:
        """Stop the heartbeat and close the store."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
        if self._process is not None:
            # Said in time, so that nobody has to wait for the lease; if it cannot be said, the lease will tell.
            with suppress(InterlockError):
                self.store.write(processes.bury([self._process], self.ids)).result()
        self.store.close()


def _log_failure(written: Future[Any]) -> None:
    error = written.exception()
    if error is not None:
        logger.warning("not recorded: %s", error)


def _instant() -> float:
    """Seconds that pass also while the machine sleeps, where the system can tell."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(clock) if clock is not None else time.monotonic()
