"""Undoes an action by its tool's own means: precheck, compensate, once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from interlock.adapters.plain.probing import call
from interlock.adapters.plain.tool import Tool
from interlock.domain.action import Action
from interlock.domain.errors import DecisionError, SettingsError
from interlock.domain.ids import ActionId
from interlock.schema import fill


class Rollbacks(Protocol):
    """What the kernel offers for rollbacks."""

    def start_rollback(self, action: ActionId, by: str) -> tuple[Action, object, bytes | None]:
        """Claim it: the action, its stored arguments, its result."""
        ...

    def end_rollback(self, action: ActionId, fence: int, came_to: str, words: str = "") -> Action:
        """Record `done`, `failed` or `conflict`."""
        ...

    def blob(self, digest: str) -> bytes:
        """The bytes of a stored value."""
        ...

    def tool_of(self, action: ActionId) -> str:
        """The name of an action's tool."""
        ...


def roll_back(kernel: Rollbacks, tools: Mapping[str, Tool], action_id: ActionId, by: str) -> Action | None:
    """Carry out a rollback that a person asked for. `compensate` gets the arguments as the tool did.

    `precheck` (same arguments) answers whether the world is still as the action left it; anything but
    True is a conflict, and nothing is undone. Answers None where the action is no longer to be undone.
    """
    name = kernel.tool_of(action_id)
    tool = tools.get(name)
    if tool is None:
        raise SettingsError(
            "unknown_tool", f"no tool {name} is known here", "Start the worker with the module that guards it."
        )
    try:
        action, arguments, _ = kernel.start_rollback(action_id, by)
    except DecisionError:
        return None  # somebody else was first, or its outcome changed meanwhile
    if tool.compensate is None:
        return kernel.end_rollback(
            action_id, action.fence, "failed", f"{name} declares no compensate=; undo it by hand"
        )
    try:
        values = tool.parameters.decode(fill(json.loads(json.dumps(arguments)), kernel.blob))
        args, kwargs = tool.parameters.call_args(values, {tool.spec.idempotency_key or "": f"{action.id}.rollback"})
        if tool.precheck is not None and call(tool.precheck, args, kwargs) is not True:
            return kernel.end_rollback(
                action_id, action.fence, "conflict", "the world has moved on since; nothing was undone"
            )
        call(tool.compensate, args, kwargs)
    except Exception as error:
        return kernel.end_rollback(action_id, action.fence, "failed", f"{type(error).__name__}: {error}"[:300])
    except BaseException:
        kernel.end_rollback(
            action_id, action.fence, "failed", "it was interrupted; it is not known whether it was undone"
        )
        raise
    return kernel.end_rollback(action_id, action.fence, "done")
