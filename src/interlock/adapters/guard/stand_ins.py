"""Which functions stand in for tools: known by identity, for an attribute can be copied or made up."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, cast

from interlock.adapters.guard.tool import Keywords, Tool, check_keywords
from interlock.domain.errors import SettingsError

_everywhere: weakref.WeakSet[FunctionType] = weakref.WeakSet()
"""The stand-ins of every `Interlock` of this process."""


class StandIns:
    """The functions that stand in for the tools of one `Interlock`, each with what was said of its tool."""

    def __init__(self) -> None:
        self._made: weakref.WeakKeyDictionary[FunctionType, tuple[Tool, Keywords]] = weakref.WeakKeyDictionary()

    def add(self, function: Callable[..., Any], tool: Tool, keywords: Keywords) -> None:
        """Remember a function that was made for a tool."""
        made = cast("FunctionType", function)
        self._made[made] = (tool, keywords)
        _everywhere.add(made)

    def tool_of(self, given: object) -> Tool | None:
        """The tool for which exactly this function, or the function of this bound method, stands in here."""
        made = _function(given)
        found = self._made.get(made) if made is not None else None
        return found[0] if found is not None else None

    def has(self, given: object, keywords: Mapping[str, Any]) -> bool:
        """Whether this is guarded already. Raises `SettingsError` where more is said of it than was at first."""
        made = _function(given)
        if made is None or made not in _everywhere:
            _refuse_wrapper(made, keywords)
            return False
        if made not in self._made:
            raise SettingsError(
                "guarded_elsewhere",
                f"{made.__name__} is guarded by another Interlock",
                "Guard the bare function here, or use one Interlock for both.",
            )
        tool, first = self._made[made]
        name = tool.spec.name
        again = check_keywords(name, keywords)
        said: Mapping[str, Any] = {**first, "name": name}
        new = sorted(key for key, value in again.items() if value != said.get(key))
        if new:
            raise SettingsError(
                "guarded_twice",
                f"{name} is guarded already, with {new[0]}={said.get(new[0])!r:.60} and not {again.get(new[0])!r:.60}",
                "Say everything where it is guarded first, or guard the bare function.",
            )
        return True


def _refuse_wrapper(made: FunctionType | None, keywords: Mapping[str, Any]) -> None:
    """What wraps a guarded function may pause inside: only a composite tool can be entered again."""
    if made is None or keywords.get("composite"):
        return
    inside = inspect.unwrap(made, stop=lambda each: _function(each) in _everywhere)
    if _function(inside) in _everywhere:
        raise SettingsError(
            "guarded_inside",
            f"{made.__name__} wraps a function that is guarded already",
            "Guard only what is inside, or say composite=True.",
        )


def _function(given: object) -> FunctionType | None:
    """What a callable is at bottom, where that is a plain function: those are equal only to themselves."""
    if type(given) is MethodType:
        given = given.__func__
    return given if type(given) is FunctionType else None
