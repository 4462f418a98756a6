"""Sameness of two values: equal, of the same types all the way down, models field by field.

Python's own `==` is too kind for the check of a round trip: `1 == True`, `0.0 == -0.0`, `Decimal("0.1") ==
Decimal("0.10")`, and two moments are equal whatever their zones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from datetime import datetime, time, tzinfo
from decimal import Decimal
from typing import Any, cast

from interlock.schema.scalars import is_fixed_offset


def same(a: object, b: object) -> bool:
    """Tell whether two values are the same for every reader; both must be of bounded depth."""
    kind = type(a)
    if kind is not type(b):
        return False
    special = _BY_TYPE.get(kind)
    if special is not None:
        return special(a, b)
    if issubclass(kind, tuple):
        return _same_items(cast("tuple[object, ...]", a), cast("tuple[object, ...]", b))
    if dataclasses.is_dataclass(kind):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(kind))
    if hasattr(kind, "__pydantic_fields__"):
        return _same_models(a, b)
    return a == b


def _same_items(a: Iterable[object], b: Iterable[object]) -> bool:
    try:
        return all(same(x, y) for x, y in zip(a, b, strict=True))
    except ValueError:
        return False


def _same_members(a: Iterable[object], b: Iterable[object]) -> bool:
    # The key that is in b may be equal without being the same: 1, True and 1.0 are one key.
    found = {item: item for item in b}
    items = list(a)
    return len(items) == len(found) and all(item in found and same(item, found[item]) for item in items)


def _same_dicts(a: dict[object, object], b: dict[object, object]) -> bool:
    return _same_members(a, b) and all(same(value, b[key]) for key, value in a.items())


def _same_zone(a: tzinfo | None, b: tzinfo | None) -> bool:
    return is_fixed_offset(b) if is_fixed_offset(a) else type(a) is type(b) and str(a) == str(b)


# Any: datetime and time share what is read here, and no protocol names it.
def _same_moments(a: Any, b: Any) -> bool:
    return (
        a.replace(tzinfo=None) == b.replace(tzinfo=None)
        and a.fold == b.fold
        and a.utcoffset() == b.utcoffset()
        and _same_zone(a.tzinfo, b.tzinfo)
    )


# Any: the attributes that Pydantic gives to every model.
def _same_models(a: Any, b: Any) -> bool:
    return (
        all(same(a.__dict__.get(name), b.__dict__.get(name)) for name in cast("Any", type(a)).__pydantic_fields__)
        and same(a.__pydantic_extra__, b.__pydantic_extra__)
        and a.__pydantic_fields_set__ == b.__pydantic_fields_set__
    )


# Any: each function is entered under the type that it is for.
_BY_TYPE: dict[type[object], Callable[[Any, Any], bool]] = {
    list: _same_items,
    tuple: _same_items,
    dict: _same_dicts,
    set: _same_members,
    frozenset: _same_members,
    float: lambda a, b: repr(a) == repr(b),
    Decimal: lambda a, b: str(a) == str(b),
    datetime: _same_moments,
    time: _same_moments,
}
