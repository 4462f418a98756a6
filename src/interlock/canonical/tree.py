"""What a canonical tree is, what it may not hold, and how an offender is named."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Final, cast

from typing_extensions import TypeAliasType

Json = TypeAliasType("Json", "bool | int | float | str | list[Json] | dict[str, Json] | None")
"""A JSON value made of exactly these Python types (no subclasses)."""

MAX_DEPTH: Final = 32
"""Containers that may lie inside each other: `[[1]]` has depth 2, `1` has 0."""

MAX_INTEGER: Final = 2**53 - 1
"""Largest integer that every JSON reader holds exactly (RFC 7493 §2.2)."""

TOO_DEEP: Final = f"is nested more than {MAX_DEPTH} deep (or contains itself)"

_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SHOWN_KEY = 64


class CanonicalError(ValueError):
    """A value has no canonical form; `path` says where and `reason` says why.

    `path` looks like `args.items[3].when` and is always printable ASCII apart from
    the root that the caller named: keys come from agents and are escaped.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)  # both, so that the error survives pickling
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


@dataclass(frozen=True, slots=True)
class Refused:
    """Stands in a parsed tree where the text said something that no `Json` can say."""

    reason: str
    key: str | None = None


@dataclass(slots=True)
class _Offence:
    """A refusal on its way up: steps are gathered leaf first, so that paths cost nothing
    until there is something to report.
    """

    reason: str
    steps: list[str | int] = field(default_factory=list[str | int])


def refuse(tree: object, root: str) -> None:
    """Raise `CanonicalError` for the first value in document order that is not canonical.

    Refused are NaN and infinities, integers beyond ±(2^53-1), lone surrogates, keys
    that are not strings, depth over `MAX_DEPTH` and every other Python type.
    """
    offence = _offence(tree, MAX_DEPTH)
    if offence is not None:
        raise CanonicalError(_path(root, offence.steps), offence.reason)


def _offence(node: object, room: int) -> _Offence | None:
    # Depth first and by exact type: a cycle runs out of room after 33 steps, however
    # wide it is, and an Enum that is also a str cannot pass for one.
    kind = type(node)
    if kind is dict:
        return _offence_in_object(cast("dict[object, object]", node), room)
    if kind is list:
        return _offence_in_array(cast("list[object]", node), room)
    reason = _scalar_reason(node)
    if reason is None:
        return None
    if isinstance(node, Refused) and node.key is not None:
        return _Offence(reason, [node.key])
    return _Offence(reason)


def _offence_in_object(node: dict[object, object], room: int) -> _Offence | None:
    if not room:
        return _Offence(TOO_DEEP)
    for key, value in node.items():
        if type(key) is not str:
            return _Offence(f"has a key of type {type(key).__name__}; keys must be strings")
        offence = _Offence(_SURROGATE_KEY) if _has_surrogate(key) else _offence(value, room - 1)
        if offence is not None:
            offence.steps.append(key)
            return offence
    return None


def _offence_in_array(node: list[object], room: int) -> _Offence | None:
    if not room:
        return _Offence(TOO_DEEP)
    for index, value in enumerate(node):
        offence = _offence(value, room - 1)
        if offence is not None:
            offence.steps.append(index)
            return offence
    return None


_SURROGATE_KEY = "has a lone surrogate in its key"


def _scalar_reason(node: object) -> str | None:
    kind = type(node)
    if kind is str:
        return "has a lone surrogate" if _has_surrogate(cast("str", node)) else None
    if kind is int:
        inside = -MAX_INTEGER <= cast("int", node) <= MAX_INTEGER
        return None if inside else INTEGER_TOO_LARGE
    if kind is float:
        return None if math.isfinite(cast("float", node)) else "is not a finite number"
    if node is None or kind is bool:
        return None
    if isinstance(node, Refused):
        return node.reason
    return f"is of type {kind.__name__}, which JSON does not have"


INTEGER_TOO_LARGE: Final = "is an integer beyond ±(2^53-1); encode it with a tag"


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _path(root: str, steps: list[str | int]) -> str:
    shown = [root]
    for step in reversed(steps):
        if isinstance(step, int):
            shown.append(f"[{step}]")
        elif _BARE_KEY.fullmatch(step):
            shown.append(f".{step}")
        else:
            cut = step if len(step) <= _SHOWN_KEY else step[:_SHOWN_KEY] + "..."
            shown.append(f"[{json.dumps(cut)}]")
    return "".join(shown)
