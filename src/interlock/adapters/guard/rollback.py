"""Undoes an action by its tool's own means: precheck, compensate, once."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from interlock.adapters.guard import outcomes
from interlock.adapters.guard.probing import call
from interlock.adapters.guard.tool import Tool
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

    If it has a parameter `result` (and the tool has none of that name), it gets the recorded result as well.
    `precheck` (called likewise) answers whether the world is still as the action left it; anything but
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
        outcome = partial(outcomes.result_of, action, tool.result, kernel.blob)
        if (
            tool.precheck is not None
            and call(tool.precheck, args, _with(tool, tool.precheck, kwargs, outcome)) is not True
        ):
            return kernel.end_rollback(
                action_id, action.fence, "conflict", "the world has moved on since; nothing was undone"
            )
        call(tool.compensate, args, _with(tool, tool.compensate, kwargs, outcome))
    except Exception as error:
        return kernel.end_rollback(action_id, action.fence, "failed", f"{type(error).__name__}: {error}"[:300])
    except BaseException:
        kernel.end_rollback(
            action_id, action.fence, "failed", "it was interrupted; it is not known whether it was undone"
        )
        raise
    return kernel.end_rollback(action_id, action.fence, "done")


def _with(
    tool: Tool, hook: Callable[..., object], kwargs: dict[str, object], outcome: Callable[[], object]
) -> dict[str, object]:
    """The keyword arguments of a hook: the tool's own, and the result where the hook asks for it."""
    try:
        wants = "result" in inspect.signature(hook).parameters
    except (TypeError, ValueError):
        wants = False
    return {**kwargs, "result": outcome()} if wants and "result" not in tool.parameters.names else kwargs
