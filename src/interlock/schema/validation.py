"""Validation by Pydantic: one validator for all arguments of a tool, its JSON Schema, and the words of a refusal.

Pydantic is imported here and nowhere else in this room, when the first tool is decorated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from interlock.schema.errors import SchemaError, key_path
from interlock.schema.hints import for_pydantic
from interlock.schema.reasons import is_model
from interlock.schema.signatures import Argument

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_WORDS = {"extra_forbidden": "no such argument", "missing": "is required"}


def build_validator(
    name: str, arguments: Sequence[Argument], namespace: Mapping[str, object]
) -> TypeAdapter[dict[str, object]]:
    """Build the validator of an object of arguments, all of them optional here; raises SchemaError (`not_storable`).

    Which are required is for the caller to check: the same validator serves calls, defaults and partial edits.
    """
    from pydantic import ConfigDict, TypeAdapter
    from typing_extensions import TypedDict

    fields: dict[str, Any] = {}
    for argument in arguments:
        try:
            fields[argument.name] = for_pydantic(argument.annotation)
        except SchemaError as error:
            error.under(f"args.{argument.name}")
            raise
    shape: Any = TypedDict(name, fields, total=False)  # pyright: ignore - made from a signature known at run time only
    shape.__pydantic_config__ = ConfigDict(
        extra="forbid", defer_build=True, val_json_bytes="base64", arbitrary_types_allowed=False
    )
    try:
        adapter: TypeAdapter[dict[str, object]] = TypeAdapter(shape)
        adapter.rebuild(force=True, raise_errors=True, _types_namespace=dict(namespace))
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise SchemaError("args", f"Pydantic cannot validate these parameters: {reason}", "not_storable") from error
    return adapter


def json_schema(adapter: TypeAdapter[dict[str, object]], arguments: Sequence[Argument]) -> dict[str, object]:
    """Write the JSON Schema of an object of arguments; raises SchemaError (`not_storable`) where there is none."""
    from pydantic_core import to_jsonable_python

    try:
        schema = adapter.json_schema()
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise SchemaError("args", f"there is no JSON Schema for these parameters: {reason}", "not_storable") from error
    properties = cast("dict[str, dict[str, object]]", schema.setdefault("properties", {}))
    for argument in arguments:
        if argument.has_default and argument.factory is None:
            try:
                properties[argument.name]["default"] = to_jsonable_python(argument.default, bytes_mode="base64")
            except Exception:  # noqa: BLE001, S112 - a class of the user's may do anything here
                # The schema only describes the default; it is filled in from the signature.
                continue
    required = [argument.name for argument in arguments if not argument.has_default]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def refusal(error: Exception, values: object) -> SchemaError:
    """Turn what a validator raised into one line: where, what, and how many more there are."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        line = f"a validator raised {type(error).__name__}: {error}"
        return SchemaError("args", _one_line(line), "arguments_invalid")
    details = error.errors(include_url=False, include_context=False, include_input=False)
    argument = details[0]["loc"][:1]
    # Every member of a union has its say; the one that came furthest into the value knows most.
    found = [
        (_path(detail["loc"], values, keep_last=detail["type"] in _WORDS), detail)
        for detail in details
        if detail["loc"][:1] == argument
    ]
    path, detail = max(found, key=lambda each: each[0].count(".") + each[0].count("["))
    reason = _WORDS.get(detail["type"], detail["msg"])
    others = len({each["loc"][:1] for each in details}) - 1
    return SchemaError(path, _one_line(reason) + (f" (and {others} more)" if others else ""), "arguments_invalid")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"


def _path(loc: Sequence[int | str], values: object, keep_last: bool) -> str:
    """Write where an error is, following the value itself.

    Pydantic puts the names of union members and validators between the keys; these lead nowhere in the value.
    """
    path = "args"
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        inside, values = _step(values, part)
        if inside or (last and keep_last):
            path += f"[{part}]" if isinstance(part, int) else key_path(part)
    return path


def _step(value: object, part: int | str) -> tuple[bool, object]:
    """Take one step into a value; tells whether there was one to take."""
    if isinstance(part, int):
        # What has no places (a set) is numbered all the same.
        places = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
        return True, places[part] if part < len(places) else None
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value)
        return (True, items[part]) if part in items else (False, items)
    return (True, getattr(value, part)) if is_model(type(value)) and hasattr(value, part) else (False, value)
