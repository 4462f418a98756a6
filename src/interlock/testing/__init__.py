"""The testing kit: a clock that obeys, a store that fails on purpose, the contract suite of stores.

Names are loaded when they are first used: `StoreContract` needs pytest, the others do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.stores.memory import MemoryStore
    from interlock.testing.clock import ManualClock
    from interlock.testing.failing_store import FailingStore
    from interlock.testing.sample_rows import Samples
    from interlock.testing.store_contract import StoreContract

__all__ = ["FailingStore", "ManualClock", "MemoryStore", "Samples", "StoreContract"]

_HOMES = {
    "FailingStore": "interlock.testing.failing_store",
    "ManualClock": "interlock.testing.clock",
    "MemoryStore": "interlock.stores.memory",
    "Samples": "interlock.testing.sample_rows",
    "StoreContract": "interlock.testing.store_contract",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
