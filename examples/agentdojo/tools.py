"""The suites' tools as functions over a world, with what `reversibility.toml` says of them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

from dojo import suite
from langchain_core.tools import StructuredTool
from pydantic.fields import FieldInfo
from world import World

from interlock import Interlock

KEY = "idempotency_key"


@cache
def labels() -> dict[str, dict[str, dict[str, Any]]]:
    """What is declared of each tool, by suite."""
    return tomllib.loads(Path(__file__).with_name("reversibility.toml").read_text())


def declared(name: str) -> dict[str, dict[str, Any]]:
    """The keywords of Interlock for each tool of a suite. Raises `ValueError` where labels and tools differ.

    A reversible tool may run again after a crash without anybody being asked. So that appending twice is not two
    effects, these take the key that Interlock gives every action.
    """
    said = labels()[name]
    missing = {each.name for each in suite(name).tools} ^ said.keys()
    if missing:
        raise ValueError(f"reversibility.toml and the suite {name} differ in {sorted(missing)}")
    found: dict[str, dict[str, Any]] = {}
    for tool, label in said.items():
        found[tool] = {key: value for key, value in label.items() if key != "because"}
        if label["reversibility"] == "reversible":
            found[tool] |= {"idempotent": True, "idempotency_key": KEY}
    return found


def functions(name: str, world: World) -> dict[str, Callable[..., str]]:
    """The tools of a suite as plain functions that act on this world."""
    said = declared(name)
    return {each.name: _function(each, world, keyed=KEY in said[each.name].values()) for each in suite(name).tools}


def _function(tool: Any, world: World, *, keyed: bool) -> Callable[..., str]:
    def call(**args: Any) -> str:
        key = args.pop(KEY, "")
        return world.apply(tool.name, args, key)

    fields: Mapping[str, FieldInfo] = tool.parameters.model_fields
    parameters = [
        Parameter(each, Parameter.KEYWORD_ONLY, annotation=info.annotation, default=_default(info))
        for each, info in fields.items()
    ]
    if keyed:
        parameters.append(Parameter(KEY, Parameter.KEYWORD_ONLY, annotation=str))
    made: Any = call
    made.__name__ = made.__qualname__ = tool.name
    made.__doc__ = tool.description
    made.__signature__ = Signature(parameters, return_annotation=str)
    made.__annotations__ = {**{each.name: each.annotation for each in parameters}, "return": str}
    return made


def _default(info: FieldInfo) -> Any:
    return Parameter.empty if info.is_required() else info.default


def guarded(il: Interlock, name: str, world: World) -> dict[str, Callable[..., str]]:
    """The same functions behind the gate."""
    said = declared(name)
    return {tool: il.guard(fn, **said[tool]) for tool, fn in functions(name, world).items()}


def langchain_tools(il: Interlock, name: str, world: World) -> list[StructuredTool]:
    """The same behind the gate as LangChain tools, with AgentDojo's own schemas."""
    behind = guarded(il, name, world)
    return [
        StructuredTool(
            name=each.name, description=each.description, args_schema=each.parameters, func=behind[each.name]
        )
        for each in suite(name).tools
    ]
