# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
# What runs in a graph has no types of its own.
"""States that an application has edited (`update_state`) while a node was in the middle of its work.

LangGraph names a task by the checkpoint it belongs to, and an edit makes another checkpoint: the same node has to run,
under another name. Its guarded calls are found under the name they were made with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.adapters.guard.places import Pass, Scope
from interlock.adapters.langgraph.places import Spot

_TASK = re.compile(r"(?P<path>[^/]*):[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(/.*)?")
"""The name of a scope that a node's own calls are made in."""


@dataclass(slots=True)
class Edited:
    """What became of the tasks that a call of a graph begins with: `renamed` ones, with the name they had.

    `unsure` are those of which it is not known whether they are the ones of before.
    """

    renamed: dict[str, str] = field(default_factory=dict[str, str])
    unsure: set[str] = field(default_factory=set[str])

    def scope_name(self, spot: Spot) -> str:
        """The name of the scope in which a task's calls were made before, if it ran before."""
        return f"{spot.path}:{self.renamed.get(spot.task, spot.task)}"

    def expect(self, spot: Spot, scope: Scope) -> None:
        """Where a task may be one of before under another name, have a call of it that is not on record diverge."""
        around = [part.rpartition(":")[2] for part in str(spot.configurable.get("checkpoint_ns", "")).split("|")]
        unsure = spot.task in self.unsure or any(
            each != spot.task and (each in self.unsure or each in self.renamed) for each in around
        )
        history = scope.pass_.history
        if unsure and scope.path not in history:
            for name, calls in history.items():
                known = _TASK.fullmatch(name)
                if known is not None and known["path"] == spot.path:
                    scope.expected.update({past.call_key: past for past in calls if not past.gone})


def has_nodes_calls(pass_: Pass) -> bool:
    """Whether earlier passes of a run made calls that only their node's task names."""
    return any(_TASK.fullmatch(name) for name in pass_.history)


def edited(stand: Any, state_at: Callable[[Any], Any]) -> Edited:
    """Compare where a graph stands with where it stood before edits. `state_at` reads an earlier checkpoint."""
    found = Edited()
    _compare(found, stand, state_at)
    return found


def _compare(found: Edited, stand: Any, state_at: Callable[[Any], Any]) -> None:
    before = stand
    while _source(before) == "update" and before.parent_config is not None:
        before = state_at(before.parent_config)
    known = {} if _source(before) in ("update", "fork") else _tasks(before)
    for key, task in _tasks(stand).items():
        if before is stand and known:
            if hasattr(task.state, "tasks"):
                _compare(found, task.state, state_at)  # a graph inside can have been edited by itself
        elif key in known:
            found.renamed[task.id] = known[key].id
        else:
            found.unsure.add(task.id)


def _source(stand: Any) -> str:
    return str((stand.metadata or {}).get("source", ""))


def _tasks(stand: Any) -> Mapping[Any, Any]:
    return {(task.name, task.path): task for task in stand.tasks}
