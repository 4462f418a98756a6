"""Every store keeps the same contract."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from interlock.ports.store import Store
from interlock.stores.memory import MemoryStore
from interlock.stores.sqlite import SqliteStore
from interlock.testing.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    def make_store(self, clock: Callable[[], datetime]) -> Store:
        return MemoryStore(clock=clock)

    def reopen(self, store: Store) -> Store:
        return store


class TestSqliteStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "interlock.db"

    def make_store(self, clock: Callable[[], datetime]) -> Store:
        self.clock_of_store = clock
        return SqliteStore(self.path, clock=clock)

    def reopen(self, store: Store) -> Store:
        store.close()
        return SqliteStore(self.path, clock=self.clock_of_store)
