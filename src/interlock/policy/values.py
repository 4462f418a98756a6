"""Stored arguments as conditions see them: the values of the typed encoding in the types that CEL has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, cast

from interlock.canonical import Json
from interlock.schema.scalars import SCALARS
from interlock.schema.tags import tag_of

MOST: Final = 2**63 - 1
"""Whole numbers beyond this are doubles in a condition: it may round them, it never fails on them."""

_READ: Final[Mapping[str, Callable[[str], object]]] = {kind.tag: kind.read for kind in SCALARS}


def to_value(tree: Json) -> object:
    """What a condition sees of one argument.

    Decimals are doubles, instants timestamps (in UTC where no zone was given), lengths of time durations; dates, times
    of day, UUIDs, paths and references to secrets are strings; tuples and sets are lists, models and dicts maps by the
    names of their fields, members of enums their names.
    """
    if isinstance(tree, list):
        return [to_value(each) for each in tree]
    if isinstance(tree, dict):
        tag = tag_of(tree)
        if tag is None:
            return {name: to_value(each) for name, each in tree.items()}
        v = tree.get("v")
        return _text_value(tag, v) if isinstance(v, str) else _array_value(tag, cast("list[Json]", v))
    return whole(tree) if type(tree) is int else tree


def whole(number: int) -> int | float:
    """A whole number as conditions see it; never fails."""
    if -MOST <= number <= MOST:
        return number
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _text_value(tag: str, text: str) -> object:
    if tag == "int":
        return whole(int(text))
    if tag not in ("float", "decimal", "datetime", "timedelta", "bytes"):
        return text
    value = _READ[tag](text)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value


def _array_value(tag: str, items: list[Json]) -> object:
    if tag in ("tuple", "set", "frozenset"):
        return [to_value(each) for each in items]
    if tag == "map":
        pairs = cast("list[list[Json]]", items)
        return {_key(to_value(key)): to_value(each) for key, each in pairs}
    if tag == "model":
        return to_value(items[1])
    if tag == "enum":
        return items[1]
    # A reference to a secret, or a value that is kept elsewhere: its name.
    return str(items[0])


def _key(key: object) -> object:
    """CEL's maps have keys that are whole numbers, booleans or strings."""
    return key if isinstance(key, (str, int, bool)) else str(key)
