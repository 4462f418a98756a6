"""The gate on behalf of an executor process that is elsewhere, and speaks to this kernel over HTTP."""

from __future__ import annotations

from interlock.domain.errors import RunError
from interlock.domain.ids import ProcessId
from interlock.domain.run import Process
from interlock.kernel.gate import InProcessGate
from interlock.policy import PolicySet
from interlock.ports.store import Store
from interlock.usecases import processes


class AttachedGate(InProcessGate):
    """A gate whose process is another one: it beats its own heart, and only it knows what it still has under way.

    Rulings are made here, by the policy of this server: whoever is attached can loosen nothing.
    """

    def __init__(self, store: Store, policy: PolicySet, process: Process) -> None:
        super().__init__(store, policy, lease_s=process.lease_s)
        self._process = process.id
        self._host = process.host

    @property
    def process(self) -> ProcessId:
        """The process that is attached."""
        assert self._process is not None, "it is given at the beginning"
        return self._process

    def living_process(self) -> ProcessId:
        """The same, if its lease still runs; raises `RunError` `process_lost`: it has to attach anew."""
        row, now = self.store.read(lambda rows: (rows.process(self.process), rows.now))
        if row is None or not row.alive(now):
            raise RunError(
                "process_lost",
                "this process was silent for longer than its lease, and what it held was taken from it",
                "Enter the run again.",
            )
        return self.process

    def beat(self) -> None:
        """Renew its lease."""
        self.living_process()
        self.store.write(processes.beat(self.process, self.ids)).result()

    def give_up_strays(self) -> int:
        """Nothing: what the process has under way is known there, not here."""
        return 0

    def close(self) -> None:
        """Say that the process has ended; the store is the server's and stays open."""
        self.store.write(processes.bury([self.process], self.ids)).result()
