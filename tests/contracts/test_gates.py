"""The gate within a process, over each store."""

from pathlib import Path
from typing import cast

import pytest

from interlock.compose import policy_of
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.kernel import Kernel
from interlock.kernel.desk import ReviewDesk
from interlock.ports.store import Store
from interlock.settings import load
from interlock.stores.sqlite import SqliteStore
from interlock.testing import GateContract, ManualClock, MemoryStore
from interlock.testing.gate_setting import GateUnderTest


class InProcess(GateContract):
    """The kernel as gate and runtime."""

    def make_store(self, clock: ManualClock) -> Store:
        raise NotImplementedError

    def make_gate(self, clock: ManualClock) -> GateUnderTest:
        return Kernel(self.make_store(clock), policy_of(load("memory://", environ={})), lease_s=1e9)

    def make_desk(self, gate: GateUnderTest) -> ReviewDesk:
        return ReviewDesk(cast("Kernel", gate), Principal(PrincipalKind.REVIEWER, "ana", authn="test"))

    def end(self, gate: GateUnderTest) -> None:
        cast("Kernel", gate).close()


class TestInMemory(InProcess):
    def make_store(self, clock: ManualClock) -> Store:
        return MemoryStore(clock=clock)


class TestOnSqlite(InProcess):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_store(self, clock: ManualClock) -> Store:
        return SqliteStore(self.folder / "interlock.db", clock=clock)
