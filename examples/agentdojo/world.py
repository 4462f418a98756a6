"""The world that the tools act on: an AgentDojo environment, and a ledger of every effect that it has felt.

`World` is in memory. `FileWorld` keeps environment and ledger in one file, which every effect replaces as a whole: a
process that is killed leaves the world before the call or after it, and a call that came twice is there twice.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import FunctionsRuntime
from dojo import Case, copied, fresh, suite

from interlock import NoEffect


@dataclass(slots=True)
class Effect:
    """One application of a call to the environment."""

    tool: str
    args: dict[str, Any]
    key: str
    result: str
    changed: bool


@dataclass(slots=True)
class State:
    """The environment as it was and as it is, and what was done to it; `repeats` counts keys that came again."""

    before: Any
    now: Any
    effects: list[Effect] = field(default_factory=list[Effect])
    repeats: int = 0


class World:
    """An environment in memory."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._functions = FunctionsRuntime(suite(case.suite).tools)
        self._lock = threading.Lock()
        self._state = _begun(case)

    def apply(self, tool: str, args: dict[str, Any], key: str = "") -> str:
        """Carry out a call and note it. A tool that raises has done nothing; a key that comes again does nothing new.

        Raises `NoEffect` with the tool's own error.
        """
        with self._opened() as state:
            known = next((each for each in state.effects if key and each.key == key), None)
            if known is not None:
                state.repeats += 1
                return known.result
            was = copied(state.now)
            try:
                made, _ = self._functions.run_function(state.now, tool, args, raise_on_error=True)
            except Exception as error:  # noqa: BLE001 - whatever it is, the world stays as it was
                state.now = was
                raise NoEffect(f"{type(error).__name__}: {error}") from None
            result = tool_result_to_str(made)
            state.effects.append(Effect(tool, args, key, result, changed=state.now != was))
            return result

    def look(self) -> State:
        """The state as it is."""
        return self._state

    @contextmanager
    def _opened(self) -> Generator[State]:
        with self._lock:
            yield self._state


class FileWorld(World):
    """An environment in a file; safe to use from several processes."""

    def __init__(self, case: Case, path: Path) -> None:
        super().__init__(case)
        self.path = path
        if not path.exists():
            self._replace(_begun(case))

    def look(self) -> State:
        """The state as it is on the disk."""
        return pickle.loads(self.path.read_bytes())  # it keeps that two lists hold the same object; JSON does not

    @contextmanager
    def _opened(self) -> Generator[State]:
        with self._lock, self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self.look()
            yield state
            self._replace(state)

    def _replace(self, state: State) -> None:
        new = self.path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(pickle.dumps(state))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)


def _begun(case: Case) -> State:
    environment = fresh(case)
    return State(copied(environment), environment)
