"""A form made from a tool's schema: an input for each argument, and back again to plain values, exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from interlock.cards.words import label
from interlock.display import plain
from interlock.domain.errors import DecisionError
from interlock.kernel.shown import shown_plain

if TYPE_CHECKING:
    from interlock.schema import Json
    from interlock.server.forms import Form

LONG = 60
"""A text that is longer, or has lines, gets a field of several lines."""
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
PREFIX = "arg."


@dataclass(frozen=True, slots=True)
class Input:
    """One argument as people fill it in. `kind`: line, text, number, whole, yesno, choice or json.

    `value` is what stands in the field, `nothing` whether it can be left out of the call as null, and `is_nothing`
    whether it is so now; `plain` is the value that an unchanged field stands for.
    """

    name: str
    label: str
    type: str
    kind: str
    value: str
    plain: object
    choices: tuple[str, ...] = ()
    nothing: bool = False
    is_nothing: bool = False
    error: str = ""


def inputs_of(schema: Mapping[str, Any], types: Mapping[str, str], arguments: Mapping[str, Json]) -> tuple[Input, ...]:
    """The inputs for arguments in their shown form; what is hidden stands there as its stand-in, which keeps it."""
    properties = cast("dict[str, Any]", schema.get("properties", {}))
    return tuple(
        _input(name, schema, properties.get(name, {}), types.get(name, ""), shown_plain(name, tree))
        for name, tree in arguments.items()
    )


def _input(name: str, schema: Mapping[str, Any], part: Mapping[str, Any], kind: str, value: object) -> Input:
    part, nothing = _resolved(schema, part)
    choices = tuple(each for each in part.get("enum", ()) if isinstance(each, str))
    form = _kind(part, value, choices)
    return Input(
        name,
        label(name),
        plain(kind or str(part.get("type", "")), limit=60),
        form,
        _written(value, form),
        value,
        choices,
        nothing,
        value is None,
    )


def _resolved(schema: Mapping[str, Any], part: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """The part of a schema without its reference and without its null, and whether null is among what it takes."""
    defs = cast("dict[str, Any]", schema.get("$defs", {}))
    nothing = False
    for _ in range(8):
        reference = part.get("$ref")
        choices = _options(part)
        others = [each for each in choices if each.get("type") != "null"]
        if isinstance(reference, str):
            part = cast("Mapping[str, Any]", defs.get(reference.rpartition("/")[2], {}))
        elif len(others) == 1 and len(others) < len(choices):
            part, nothing = others[0], True
        else:
            break
    return part, nothing


def _options(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", each) for each in part.get("anyOf", []) if isinstance(each, dict)]


def _kind(part: Mapping[str, Any], value: object, choices: tuple[str, ...]) -> str:
    kinds = {each.get("type") for each in _options(part)}
    kind = part.get("type")
    if choices and (value is None or value in choices):
        return "choice"
    if kind == "boolean" and isinstance(value, bool | None):
        return "yesno"
    if kind == "integer":
        return "whole"
    if kind == "number" or (kinds and kinds <= {"number", "string", "integer"}):
        return "number" if kind == "number" else "line"
    if kind == "string" and isinstance(value, str | None):
        return "text" if value and (len(value) > LONG or "\n" in value) else "line"
    return "json"


def _written(value: object, form: str) -> str:
    if value is None:
        return "" if form != "json" else "null"
    if isinstance(value, str) and form != "json":
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, indent=2 if form == "json" else None)


def changed(inputs: tuple[Input, ...], form: Form) -> dict[str, object]:
    """The arguments that a person changed, as plain values; raises `DecisionError` `bad_edit` with the field's name."""
    given = form.below(PREFIX)
    known = {each.name for each in inputs}
    for name in given:
        if name.removesuffix(".nothing") not in known and name not in known:
            raise DecisionError("bad_edit", f"{name}: there is no such argument", "Nothing was decided.")
    changes: dict[str, object] = {}
    for each in inputs:
        if each.name not in given and f"{each.name}.nothing" not in given and each.kind != "yesno":
            continue
        value = _read(each, form)
        if type(value) is not type(each.plain) or value != each.plain:
            changes[each.name] = value
    return changes


def _read(each: Input, form: Form) -> object:
    text = form.one(PREFIX + each.name)
    if each.nothing and form.one(f"{PREFIX}{each.name}.nothing") == "yes":
        return None
    if each.kind == "yesno":
        if text not in ("", "true", "false"):
            raise _bad(each, "is yes or no")
        return text == "true"
    if text == each.value.replace("\r\n", "\n") and not each.is_nothing:
        return each.plain  # not touched: what stands there may be a stand-in for something hidden
    if each.kind == "whole":
        if not _INTEGER.fullmatch(text.strip()):
            raise _bad(each, "must be a whole number")
        return int(text)
    if each.kind in ("number", "json"):
        try:
            return json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise _bad(each, "must be a number" if each.kind == "number" else "is not valid JSON") from None
    return text


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _bad(each: Input, why: str) -> DecisionError:
    return DecisionError("bad_edit", f"args.{each.name}: {why}", "Nothing was decided; correct it and send it again.")


def told(inputs: tuple[Input, ...], form: Form, error: DecisionError | None) -> tuple[Input, ...]:
    """The inputs as a person left them, with the error at its field."""
    path = error.message.partition(":")[0].removeprefix("args.") if error is not None else ""
    name = re.split(r"[.\[]", path)[0]
    made: list[Input] = []
    for each in inputs:
        left = form.one(PREFIX + each.name, "" if each.kind == "yesno" else each.value)
        words = error.message.partition(": ")[2] if error is not None and each.name in (name, path) else ""
        nothing = form.one(f"{PREFIX}{each.name}.nothing") == "yes"
        made.append(
            Input(
                each.name,
                each.label,
                each.type,
                each.kind,
                left,
                each.plain,
                each.choices,
                each.nothing,
                nothing,
                words,
            )
        )
    return tuple(made)
