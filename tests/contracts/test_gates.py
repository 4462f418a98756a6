"""The gate within a process, over each store."""

import socket
import threading
from pathlib import Path
from typing import cast

import pytest

from interlock.client.desk import RemoteDesk
from interlock.client.gate import RemoteGate
from interlock.client.transport import Transport
from interlock.compose import policy_of, web_server
from interlock.domain.credential import CredentialKind
from interlock.domain.reviewers import Principal, PrincipalKind
from interlock.kernel import Kernel
from interlock.kernel.desk import ReviewDesk
from interlock.ports.store import Store
from interlock.server.limits import Limits, Rate
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


class OverHttp(InProcess):
    """The same through a server: an agent's process and a reviewer's, each with a key of its own."""

    def make_gate(self, clock: ManualClock) -> GateUnderTest:
        self.kernel = Kernel(self.make_store(clock), policy_of(load("memory://", environ={})), lease_s=1e9)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        limits = Limits(rates=(Rate(10**6, 10**6),) * 3)
        self.server = web_server(self.kernel, self.url, limits)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]})
        self.thread.start()
        key = self.kernel.issue(CredentialKind.AGENT_KEY, "agent", by="operator:test").token
        return cast("GateUnderTest", RemoteGate(Transport(self.url, key), lease_s=1e9))

    def make_desk(self, gate: GateUnderTest) -> ReviewDesk:
        key = self.kernel.issue(CredentialKind.REVIEWER_KEY, "ana", by="operator:test").token
        self.desks = [*getattr(self, "desks", []), RemoteDesk(Transport(self.url, key))]
        return cast("ReviewDesk", self.desks[-1])

    def end(self, gate: GateUnderTest) -> None:
        for desk in getattr(self, "desks", []):
            desk.close()
        cast("RemoteGate", gate).close()
        self.server.should_exit = True
        self.thread.join()
        self.listener.close()
        self.kernel.close()


class TestOverHttpInMemory(OverHttp):
    def make_store(self, clock: ManualClock) -> Store:
        return MemoryStore(clock=clock)


class TestOverHttpOnSqlite(OverHttp):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_store(self, clock: ManualClock) -> Store:
        return SqliteStore(self.folder / "interlock.db", clock=clock)
