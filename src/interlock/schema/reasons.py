"""Why a value cannot be stored, in one line that says what to do instead."""

from __future__ import annotations

import dataclasses
import enum
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from uuid import UUID

from interlock.schema.errors import SchemaError, not_storable

# Most specific first, so that a subclass is named by its nearest base.
_BUILTIN = (
    bool, int, float, str, bytes, list, tuple, set, frozenset, dict,
    datetime, date, time, timedelta, Decimal, UUID,
)  # fmt: skip


def why_not(value: object, expected: str | None = None) -> SchemaError:
    """Make the refusal of a value where a codec for `expected` (None: no declared type) stands."""
    kind = type(value)
    name = kind.__name__
    reason = _unstorable(kind, name)
    if reason is None and expected is None:
        reason = f"{_article(kind)} {name} needs a declared type to be read back"
    return not_storable(reason or f"expected {expected}, found {name}")


def _unstorable(kind: type[object], name: str) -> str | None:
    """Say why no codec at all would take this type, or None if one would."""
    if kind.__module__.partition(".")[0] == "numpy":
        return f"a numpy {name} is not stored; convert it with .item() or .tolist()"
    if issubclass(kind, enum.Enum) or is_model(kind) or kind in _BUILTIN or kind is type(None):
        return None
    if issubclass(kind, PurePath) and kind.__module__.partition(".")[0] == "pathlib":
        return None
    if name in ("SecretStr", "SecretBytes"):
        return f"a {name} would be stored in clear; pass a SecretRef"
    for base in _BUILTIN:
        if issubclass(kind, base):
            return f"{name} is a subclass of {base.__name__} and would come back as {base.__name__}"
    return f"a value of the type {name} cannot be stored"


def is_model(kind: type[object]) -> bool:
    """Tell whether a class is one with named fields: a dataclass, a Pydantic model or a NamedTuple."""
    return (
        dataclasses.is_dataclass(kind)
        or hasattr(kind, "__pydantic_fields__")
        or (tuple in kind.__mro__ and hasattr(kind, "_fields"))
    )


def _article(kind: type[object]) -> str:
    if issubclass(kind, enum.Enum):
        return "the enum"
    return "the model" if is_model(kind) else "the type"
