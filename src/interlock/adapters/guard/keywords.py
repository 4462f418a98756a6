"""Checks what people wrote about a tool, before anything is made of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import cast

from interlock.domain.errors import SettingsError


def _callable(value: object) -> bool:
    return callable(value)


def _text(value: object) -> bool:
    return isinstance(value, str)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _names(value: object) -> bool:
    each = (value,) if isinstance(value, str) else value
    return isinstance(each, (list, tuple)) and all(
        isinstance(name, str) and name for name in cast("Iterable[object]", each)
    )


def _slices(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and (isinstance(by, str) or callable(by))
        for name, by in cast("Mapping[object, object]", value).items()
    )


_KINDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "name": (lambda value: isinstance(value, str) and bool(value.strip()), "a name"),
    "description": (_text, "text"),
    "category": (_text, "text"),
    "idempotent": (_flag, "True or False"),
    "composite": (_flag, "True or False"),
    "idempotency_key": (_text, "the name of a parameter"),
    "occurrence_key": (
        lambda value: isinstance(value, str) or callable(value),
        "the name of a parameter, or a callable",
    ),
    "probe": (_callable, "a callable"),
    "compensate": (_callable, "a callable"),
    "precheck": (_callable, "a callable"),
    "sensitive": (_names, "names of parameters"),
    "preview": (_callable, "a callable"),
    "expected_outcome": (lambda value: isinstance(value, str) or callable(value), "text, or a callable"),
    "ask_rationale": (_flag, "True or False"),
    "slices": (_slices, "a dict of names to parameters or callables"),
    "confidence_threshold": (_number, "a number from 0 to 1"),
}


def check_kinds(name: str, keywords: Mapping[str, object]) -> None:
    """Raise `SettingsError` for the first keyword whose value is of the wrong kind."""
    for keyword, value in keywords.items():
        fits, wanted = _KINDS.get(keyword, (None, ""))
        if fits is not None and value is not None and not fits(value):
            raise SettingsError(
                "bad_keyword", f"{name}: {keyword}={value!r} is not {wanted}"[:300], f"Give it {wanted}."
            )


def users_frame() -> int:
    """How far up the stack (for `warnings.warn` in our caller) the first line stands that is not ours."""
    here = inspect.currentframe()
    level, frame = 1, here.f_back if here is not None else None
    while (
        frame is not None and frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("interlock.")
    ):
        level, frame = level + 1, frame.f_back
    return level
