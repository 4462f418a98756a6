"""Reading JSON that strangers send: what JSON leaves open is refused, not guessed."""

from __future__ import annotations

import json
from typing import Any, cast

from interlock.domain.errors import CallError

MAX_DEPTH = 48
"""Containers within each other: 32 of a value, and those that it stands in."""
_MEND = "See /v1/openapi.json."


def fields_of(body: bytes) -> dict[str, bytes]:
    """The fields of a JSON object, each as JSON again. Raises `CallError` `bad_request`.

    Refused are: what is not UTF-8 or no JSON, a key that stands twice, NaN and infinities, lone surrogates, and more
    than `MAX_DEPTH` containers within each other. Whole numbers keep all their digits.
    """
    try:
        tree: object = json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise CallError("bad_request", "body: is not UTF-8", _MEND) from None
    except (ValueError, RecursionError) as error:
        words = str(error)[:200] if isinstance(error, ValueError) else "is nested too deep"
        raise CallError("bad_request", f"body: {words}", _MEND) from None
    if not isinstance(tree, dict):
        raise CallError("bad_request", "body: is no object", _MEND)
    fields = cast("dict[str, Any]", tree)
    _check(fields, MAX_DEPTH)
    return {name: json.dumps(value, ensure_ascii=False).encode() for name, value in fields.items()}


def _check(tree: object, room: int) -> None:
    if isinstance(tree, str):
        if not tree.isascii() and tree != tree.encode("utf-8", "replace").decode():
            raise CallError("bad_request", "body: holds a lone surrogate", _MEND)
        return
    if isinstance(tree, (dict, list)):
        if not room:
            raise CallError("bad_request", f"body: is nested more than {MAX_DEPTH} deep", _MEND)
        inner = cast("list[object]", [*tree.keys(), *tree.values()] if isinstance(tree, dict) else tree)
        for each in inner:
            _check(each, room - 1)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands twice")
    return made


def _no_number(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")
