"""Exceptions as data: what a failed tool raised, and the same exception again on a later pass, never by pickle."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import cast

from interlock.schema.containers import ANY
from interlock.schema.errors import SchemaError
from interlock.schema.tags import ENVELOPE, Json

_MESSAGE_LIMIT = 4096


def encode_exception(exc: BaseException) -> Json:
    """Describe an exception as `{"type": "module:qualname", "message", "args", "state"}`.

    `args` is its arguments in the typed encoding, or None if they, or the attributes that it carries (`state`), cannot
    be stored: then it can be shown and not raised again. A message of more than 4096 characters is cut. Never raises.
    """
    cls = type(exc)
    args: Json = None
    state: Json = None
    try:
        args = ANY.write(list(exc.args), ENVELOPE)
        state = ANY.write(_state(exc), ENVELOPE)
    except Exception:  # noqa: BLE001 - the exception is being recorded; its own attributes must not prevent that
        args = state = None
    return {"type": _clean(type_name(cls)), "message": _message(exc), "args": args, "state": state}


def type_name(cls: type[object]) -> str:
    """Name a class as `module:qualname`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def _state(exc: BaseException) -> dict[str, object]:
    return {name: value for name, value in vars(exc).items() if name != "__notes__"}


def _message(exc: BaseException) -> str:
    try:
        text = "".join(str(exc))
    except Exception:  # noqa: BLE001 - as in encode_exception
        text = f"<{type(exc).__name__} without a message>"
    text = _clean(text)
    return text if len(text) <= _MESSAGE_LIMIT else text[: _MESSAGE_LIMIT - 1] + "…"


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def decode_exception(tree: object, known: Sequence[type[BaseException]] = ()) -> Exception | None:
    """Make the exception again that `encode_exception` described, or None where that is not certain to be the same.

    Its class must be in `known` or in a module that is loaded already, and be a subclass of Exception; nothing is
    imported. The result must have the stored type, message and attributes. Never raises.
    """
    if type(tree) is not dict:
        return None
    stored = cast("dict[str, object]", tree)
    name = stored.get("type")
    if type(name) is not str or stored.get("args") is None:
        return None
    cls = next((cls for cls in known if type_name(cls) == name), None) or _find(name)
    if cls is None or not issubclass(cls, Exception):
        return None
    try:
        made = cls(*cast("list[object]", ANY.read(stored["args"], 0)))
        if type(made) is cls and encode_exception(made) == tree:
            return made
    except (SchemaError, Exception):  # noqa: BLE001 - whatever the constructor of a user's class does
        return None
    return None


def _find(name: str) -> type[object] | None:
    """Find a class by name in what is loaded, without `getattr`: a module's `__getattr__` may import."""
    module_name, _, qualname = name.partition(":")
    place: object = sys.modules.get(module_name)
    for part in qualname.split("."):
        if not isinstance(place, type | ModuleType):
            return None
        place = vars(place).get(part)
    return place if isinstance(place, type) else None
