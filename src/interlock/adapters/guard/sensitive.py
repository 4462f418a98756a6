"""Which arguments of a tool are sensitive: the paths, checked against its parameters, and errors that say nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

from interlock.domain.errors import SettingsError
from interlock.domain.hiding import secrets_of, veiled_tree
from interlock.domain.tool import ToolSpec
from interlock.schema import Json, Parameters, SchemaError, encode_exception


def sensitive_paths(tool: str, given: str | Iterable[str] | None, parameters: Parameters) -> tuple[str, ...]:
    """The paths of `sensitive=` in order, each once; `SettingsError` for one that leads nowhere."""
    named = (given,) if isinstance(given, str) else tuple(given or ())
    paths = tuple(dict.fromkeys(path.removeprefix("args.") for path in named))
    for path in paths:
        head, *rest = path.split(".")
        if head not in parameters.names:
            near = get_close_matches(head, parameters.names, 1)
            raise SettingsError(
                "no_such_parameter",
                f"{tool} has no parameter {head} for sensitive",
                f"Did you mean {near[0]}?" if near else "Name one of its parameters.",
            )
        shape = cast("Any", parameters.shapes[head])
        named_types: object = cast("dict[str, Any]", shape).get("defs") if isinstance(shape, dict) else None
        defs = cast("Mapping[str, Any]", named_types or {})
        if not _leads(shape["is"] if defs else shape, rest, defs, frozenset()):
            raise SettingsError(
                "no_such_parameter",
                f"{tool}: sensitive={path!r} leads to no field of {head}",
                f"Name a field that its type {parameters.types[head]} has, or all of it: {head}.",
            )
    return paths


def _leads(shape: Any, rest: Sequence[str], defs: Mapping[str, Any], seen: frozenset[tuple[str, int]]) -> bool:
    """Whether a value of this shape can have something at the rest of a path."""
    if not rest or shape == "any":
        return True
    if not isinstance(shape, dict):
        return False
    (kind, inner), *_ = cast("dict[str, Any]", shape).items()
    if kind == "ref":
        key = (str(inner), len(rest))
        return key not in seen and _leads(defs[inner], rest, defs, seen | {key})
    if kind in ("model", "record"):
        fields = cast("Mapping[str, Any]", inner[1] if kind == "model" else inner)
        return rest[0] in fields and _leads(fields[rest[0]][0], rest[1:], defs, seen)
    if kind == "dict":
        return _leads(inner[1], rest[1:], defs, seen)
    if kind in ("list", "tuple_of", "set", "frozenset"):
        return _leads(inner, rest, defs, seen)
    return kind in ("tuple", "union") and any(_leads(each, rest, defs, seen) for each in inner)


def said(spec: ToolSpec, error: SchemaError) -> str:
    """What does not fit, and where: without the value, where that is sensitive."""
    head = error.path.removeprefix("args.").partition(".")[0].partition("[")[0]
    if any(path.partition(".")[0] == head for path in spec.sensitive):
        return f"{error.path}: does not fit its annotation (what is wrong is not said: it is sensitive)"
    return f"{error.path}: {error.reason}"


class Unsaid:
    """The sensitive values of calls that failed in a pass: the errors that are recorded do not tell them."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()

    def failure(self, spec: ToolSpec, error: BaseException, arguments: Callable[[], Json]) -> Json:
        """An error of a tool as it is recorded. `arguments` are asked for only where some are sensitive."""
        if spec.sensitive:
            self._secrets |= secrets_of(cast("Mapping[str, Json]", arguments()), spec.sensitive)
        return self.ending(error)

    def ending(self, error: BaseException) -> Json:
        """An error with which a tool or a pass ended, as it is recorded."""
        told = cast("dict[str, Json]", encode_exception(error))
        if not self._secrets:
            return told
        return {name: each if name == "type" else veiled_tree(each, self._secrets) for name, each in told.items()}


def cause(spec: ToolSpec, error: SchemaError) -> SchemaError | None:
    """The error to name as the cause of ours: none where it would tell a sensitive value in a traceback."""
    return None if spec.sensitive else error
