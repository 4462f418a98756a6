"""Interlock: a human-in-the-loop control plane for AI agents.

The names below are loaded when they are first used, so that `import interlock` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.adapters.guard.probing import DidNotHappen, Happened
    from interlock.adapters.plain.handle import RunHandle as Run
    from interlock.compose import Desk, Interlock
    from interlock.domain.action import Versions
    from interlock.domain.errors import (
        ActionFailed,
        DecisionError,
        Diverged,
        InterlockError,
        Interrupted,
        NoEffect,
        Refused,
        ResultNotStored,
        RolledBack,
    )

_HOMES = {
    "Interlock": "compose",
    "Desk": "compose",
    "Run": "adapters.plain.handle:RunHandle",
    "Happened": "adapters.guard.probing",
    "DidNotHappen": "adapters.guard.probing",
    "ActionFailed": "domain.errors",
    "DecisionError": "domain.errors",
    "Diverged": "domain.errors",
    "InterlockError": "domain.errors",
    "Interrupted": "domain.errors",
    "NoEffect": "domain.errors",
    "Refused": "domain.errors",
    "Versions": "domain.action",
    "ResultNotStored": "domain.errors",
    "RolledBack": "domain.errors",
}

__all__ = [
    "ActionFailed",
    "DecisionError",
    "Desk",
    "DidNotHappen",
    "Diverged",
    "Happened",
    "Interlock",
    "InterlockError",
    "Interrupted",
    "NoEffect",
    "Refused",
    "ResultNotStored",
    "RolledBack",
    "Run",
    "Versions",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'interlock' has no attribute {name!r}")
    module, _, attribute = home.partition(":")
    return getattr(import_module(f"interlock.{module}"), attribute or name)


def __dir__() -> list[str]:
    return sorted(__all__)
