"""The testing kit: assertions, a reviewer with a script, a clock that obeys, a store that fails, contract suites.

What is fake and what is not: the kernel, the policy and the ledger are those of operation. `MemoryStore` is a real
store whose rows end with the process: it keeps every promise of `ports.Store` but durability. `ManualClock` is the
store's clock; nothing else that reads a clock obeys it. `ScriptedReviewer` decides through a real desk, with a
principal of its own, but nothing was shown to anybody. `FailingStore` is any store, broken at one chosen call.

Names are loaded when they are first used: the contract suites need pytest, the others do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.stores.memory import MemoryStore
    from interlock.testing.adapter_contract import AdapterContract
    from interlock.testing.assertions import Assertions
    from interlock.testing.clock import ManualClock
    from interlock.testing.failing_store import FailingStore
    from interlock.testing.gate_contract import GateContract
    from interlock.testing.rehearsal import Rehearsal
    from interlock.testing.reviewer import (
        Answer,
        ScriptedReviewer,
        approve,
        found_done,
        found_failed,
        modify,
        redirect,
        reject,
        respond,
        run_again,
        scripted_reviewer,
    )
    from interlock.testing.sample_rows import Samples
    from interlock.testing.store_contract import StoreContract

__all__ = [
    "AdapterContract",
    "Answer",
    "Assertions",
    "FailingStore",
    "GateContract",
    "ManualClock",
    "MemoryStore",
    "Rehearsal",
    "Samples",
    "ScriptedReviewer",
    "StoreContract",
    "approve",
    "found_done",
    "found_failed",
    "modify",
    "redirect",
    "reject",
    "respond",
    "run_again",
    "scripted_reviewer",
]

_REVIEWER = (
    *("Answer", "ScriptedReviewer", "approve", "found_done", "found_failed", "modify", "redirect", "reject", "respond"),
    *("run_again", "scripted_reviewer"),
)

_HOMES = {
    **dict.fromkeys(_REVIEWER, "interlock.testing.reviewer"),
    "AdapterContract": "interlock.testing.adapter_contract",
    "Assertions": "interlock.testing.assertions",
    "FailingStore": "interlock.testing.failing_store",
    "GateContract": "interlock.testing.gate_contract",
    "ManualClock": "interlock.testing.clock",
    "MemoryStore": "interlock.stores.memory",
    "Rehearsal": "interlock.testing.rehearsal",
    "Samples": "interlock.testing.sample_rows",
    "StoreContract": "interlock.testing.store_contract",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
