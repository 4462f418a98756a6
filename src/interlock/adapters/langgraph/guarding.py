"""Guarded copies of LangChain tools: of the same class, with the same schema, and no way to the body but the gate."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from interlock.adapters.langgraph.calls import Calls
from interlock.adapters.langgraph.tools import GuardedTool
from interlock.domain.errors import CallError, SettingsError

_OURS = "__interlock_tool__"


class _Guarded:
    """What every guarded copy does instead of running."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        calls, tool = vars(self)[_OURS]
        return calls.call(tool, input, config, options)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        calls, tool = vars(self)[_OURS]
        return await calls.call_async(tool, input, config, options)

    def run(self, tool_input: Any, *_: Any, **options: Any) -> Any:
        return self.invoke(*_as_invoked(tool_input, options))

    async def arun(self, tool_input: Any, *_: Any, **options: Any) -> Any:
        return await self.ainvoke(*_as_invoked(tool_input, options))

    def __deepcopy__(self, memo: Any = None) -> Any:
        copy = cast("Any", self).model_copy()  # of the same guard: what is guarded is there once
        if memo is not None:
            memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, _: Any) -> Any:
        raise _not_portable(vars(self)[_OURS][1].name)

    def _run(self, *_: Any, **__: Any) -> Any:
        raise _no_way_round(vars(self)[_OURS][1].name)

    async def _arun(self, *_: Any, **__: Any) -> Any:
        raise _no_way_round(vars(self)[_OURS][1].name)


_kinds: dict[type[BaseTool], type[BaseTool]] = {}


def guarded_copy(calls: Calls, tool: GuardedTool) -> BaseTool:
    """A copy of the tool that goes through the gate however it is called."""
    original = tool.original
    kind = _kinds.get(type(original))
    if kind is None:
        name = f"Guarded{type(original).__name__}"
        kind = _kinds[type(original)] = cast("type[BaseTool]", type(name, (_Guarded, type(original)), {}))
    copy = original.model_copy()
    object.__setattr__(copy, "__class__", kind)
    object.__setattr__(copy, _OURS, (calls, tool))
    for name in ("func", "coroutine"):
        bare = getattr(original, name, None)
        if bare is not None:
            object.__setattr__(copy, name, _stand_in(bare, tool.name))
    return copy


def guard_of(tool: object) -> tuple[Calls, GuardedTool] | None:
    """The guard of a guarded copy; None for any other tool."""
    return vars(tool).get(_OURS) if isinstance(tool, _Guarded) else None


def _stand_in(bare: Any, name: str) -> Any:
    """What LangChain reads a signature from; it runs nothing."""

    def refused(*_: Any, **__: Any) -> Any:
        raise _no_way_round(name)

    async def refused_async(*_: Any, **__: Any) -> Any:
        raise _no_way_round(name)

    made = refused_async if inspect.iscoroutinefunction(bare) else refused
    functools.update_wrapper(made, bare)
    vars(made).pop("__wrapped__", None)
    cast("Any", made).__signature__ = inspect.signature(bare)
    return made


def _no_way_round(name: str) -> CallError:
    return CallError(
        "no_way_round", f"{name} is guarded, and its bare function was called; it was not run", "Call tool.invoke(...)."
    )


def _not_portable(name: str) -> SettingsError:
    return SettingsError(
        "not_portable",
        f"{name} is guarded in this process and cannot be pickled",
        "Pickle the bare tool, and guard it where it is unpickled.",
    )


def _as_invoked(tool_input: Any, options: Mapping[str, Any]) -> tuple[Any, Any]:
    call_id = options.get("tool_call_id")
    if call_id is not None and isinstance(tool_input, Mapping):
        return {"name": "", "args": dict(cast("Any", tool_input)), "id": call_id, "type": "tool_call"}, options.get(
            "config"
        )
    return tool_input, options.get("config")
