"""Kinds that people write as text, such as dates and amounts, and the words for what does not fit."""

from __future__ import annotations

import json
import math
from pathlib import PurePosixPath, PureWindowsPath
from typing import TypeAlias, cast

from interlock.schema.errors import SchemaError, key_path
from interlock.schema.scalars import SCALARS, Kind, path_kind
from interlock.schema.tags import ENVELOPE, MAX_DEPTH, Json, check_text, tag_of, tagged, text_of

DEEPEST = MAX_DEPTH - ENVELOPE

KINDS = {
    **{kind.tag: kind for kind in SCALARS},
    "path": path_kind(PurePosixPath),
    "windows_path": path_kind(PureWindowsPath),
}

# How a value fits: as it stands in JSON, as text in the one exact form of a kind, or as text in another form of it.
EXACT, READ, LOOSE = 0, 1, 2

Written: TypeAlias = "tuple[Json, int]"


def refused(reason: str) -> SchemaError:
    """Make the error of what a person wrote; the containers around it add the path."""
    return SchemaError("", reason, "arguments_invalid")


def check_json(value: object, depth: int) -> None:
    """Hold a value to what `json.loads` gives, without NaN and lone surrogates, before anything walks through it."""
    if type(value) is str:
        check_text(value)
    elif type(value) is float:
        if not math.isfinite(value):
            raise refused("NaN and infinities are no values")
    elif type(value) is list or type(value) is dict:
        if depth >= MAX_DEPTH:
            raise refused(f"nested more than {MAX_DEPTH} levels deep")
        _check_inside(cast("list[object] | dict[object, object]", value), depth + 1)
    elif value is not None and type(value) not in (bool, int):
        raise refused(f"a value of the type {type(value).__name__} is no JSON")


def _check_inside(value: list[object] | dict[object, object], depth: int) -> None:
    named = type(value) is dict
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        try:
            if named:
                if type(key) is not str:
                    raise refused("a key is a string")
                check_text(key)
            check_json(item, depth)
        except SchemaError as error:
            error.under(key_path(key) if named else f"[{key}]")
            raise


def check_tree_depth(tree: Json) -> None:
    """Refuse a tree that would be too deep for the document that carries it."""
    level: list[Json] = [tree]
    for _ in range(DEEPEST + 1):
        level = [
            item
            for node in level
            if type(node) in (list, dict)
            for item in (node.values() if type(node) is dict else cast("list[Json]", node))
        ]
        if not level:
            return
    raise refused(f"nested more than {DEEPEST} levels deep when it is encoded")


def scalar(name: str, value: object) -> Written:
    """Write a value that is one text, such as a date; amounts may be numbers."""
    kind = KINDS[name]
    given = tag_of(value) == kind.tag
    text: object = text_of(value, kind.tag) if given else value
    if name == "decimal" and type(text) in (int, float):
        text = repr(text)
    if type(text) is not str:
        raise expected(kind.name, value)
    if name == "bytes":
        text = text.rstrip("=")
    written = _rewritten(kind, text)
    exact = written == text
    if (given or name == "bytes") and not exact:
        what = "bytes in base64url" if name == "bytes" else f"a {kind.tag} in its one exact form"
        raise refused(f"not {what}")
    return tagged(kind.tag, written), READ if exact else LOOSE


def _rewritten(kind: Kind, text: str) -> str:
    """Read a text as one of a kind and write it again, in the one form that is stored."""
    what = "bytes in base64url" if kind.tag == "bytes" else f"a {kind.tag}"
    # `Decimal` is kinder than JSON is.
    strict = text if kind.tag != "decimal" else text.strip().replace("_", "")
    if strict != text or (kind.tag != "path" and not text.isascii()):
        raise refused(f"not {what}")
    try:
        return kind.write(kind.read(text))
    except SchemaError as error:
        raise refused(error.reason) from None
    except (ValueError, ArithmeticError, TypeError, NotImplementedError) as error:
        raise refused(f"not {what}: {error}"[:160] if str(error)[:1] != "[" else f"not {what}") from None


def is_float(value: int) -> bool:
    """Tell whether a float equals an integer."""
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


_NAMES: dict[type[object], str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    list: "a list",
    dict: "an object",
}


def expected(what: str, value: object) -> SchemaError:
    """Make the error of a value of another kind than the one that is declared."""
    found = json.dumps(value) if value is None or type(value) is bool else _NAMES[type(value)]
    tag = tag_of(value)
    return refused(f"expected {what[:160]}, found {f'the tag {tag[:40]}' if tag else found}")
