"""What a pass has made so far, where a framework may execute the same code again before the pass ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from interlock.domain.action import Action, ActionState, PastCall, past_action
from interlock.domain.ids import CallKey, RunId

Find = Callable[[RunId, CallKey], Action | None]
"""The action that a call of a run became, if it became one."""


class MadeCall(Protocol):
    """A call that was made in this pass."""

    def as_past(self, find: Find) -> PastCall | None:
        """What a later pass would know of it; None where nothing of it is on record."""
        ...


@dataclass(frozen=True, slots=True)
class Proposed:
    """A call that was proposed."""

    run: RunId
    key: CallKey

    def as_past(self, find: Find) -> PastCall | None:
        """The call as the store has it now."""
        action = find(self.run, self.key)
        return None if action is None else past_action(action)


class Made:
    """Calls of a pass by the scopes they were made in. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[str, list[MadeCall]] = {}

    def keep(self, scope: str, call: MadeCall) -> None:
        """Remember a call."""
        with self._lock:
            self._calls.setdefault(scope, []).append(call)

    def take(self, scope: str) -> dict[str, list[MadeCall]]:
        """The calls of a scope and of those inside it, in order; they are forgotten."""
        with self._lock:
            inside = [path for path in self._calls if path == scope or path.startswith(f"{scope}/")]
            return {path: self._calls.pop(path) for path in inside}


def known_of(calls: list[MadeCall], find: Find) -> dict[str, PastCall]:
    """What an execution of some code leaves to the next one. A failure that ended it may be tried anew.

    An earlier failure stays what it was: the calls after it depend on it.
    """
    found = [past for call in calls if (past := call.as_past(find)) is not None]
    if found and found[-1].state is ActionState.FAILED:
        found[-1] = replace(found[-1], retried=True)
    return {past.call_key: past for past in found}
