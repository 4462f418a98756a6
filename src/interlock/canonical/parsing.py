"""A strict reader of JSON text, as strict as the encoder that answers it."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import cast

import orjson
import rfc8785

from interlock.canonical.encoding import is_simple, sorted_bytes
from interlock.canonical.tree import (
    INTEGER_TOO_LARGE,
    MAX_DEPTH,
    MAX_INTEGER,
    TOO_DEEP,
    CanonicalError,
    Json,
    Refused,
    refuse,
)

_EXACT_DIGITS = 16
"""Digits of the largest integer that is read as an int, 2^53-1."""


def parse(data: bytes, *, root: str = "value") -> Json:
    """Read UTF-8 JSON text (RFC 8259) into a tree that `canonical_bytes` accepts.

    `root` names the tree in errors. Raises `CanonicalError` for text that is not UTF-8 or
    not JSON, duplicate keys (RFC 7493 §2.3), NaN and infinities, also by overflow, lone
    surrogates, depth over `MAX_DEPTH`, and integers beyond ±(2^53-1).

    One exception keeps every canonical text readable: RFC 8785 writes the double 1e20 as
    `100000000000000000000`, so an integer literal that is exactly what RFC 8785 writes for
    a double is read as that float. `9007199254740993` is not, and is refused.
    """
    stored = _parse_sorted(data)
    if stored is not None:
        return stored
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CanonicalError(root, f"is not UTF-8 (at byte {error.start})") from None
    try:
        tree = cast("object", json.loads(text, object_pairs_hook=_object, parse_int=_integer))
    except json.JSONDecodeError as error:
        raise CanonicalError(root, f"is not JSON: {error.msg} (at character {error.pos})") from None
    except RecursionError:
        raise CanonicalError(root, TOO_DEEP) from None
    refuse(tree, root)
    return cast("Json", tree)


def _parse_sorted(data: bytes) -> Json:
    # Most texts that are read were written here. orjson reads them ten times as fast but
    # lets the last of two equal keys win: writing the tree again then gives fewer bytes,
    # so equal bytes prove that no key was dropped and no number was rounded.
    try:
        tree: Json = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if is_simple(tree, MAX_DEPTH) and sorted_bytes(tree) == data:
        return tree
    return None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | Refused:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    counts = Counter(key for key, _ in pairs)
    return Refused("is a duplicate key", counts.most_common(1)[0][0])


def _integer(literal: str) -> int | float | Refused:
    if len(literal.lstrip("-")) <= _EXACT_DIGITS:
        number = int(literal)
        if -MAX_INTEGER <= number <= MAX_INTEGER:
            return number
    double = float(literal)  # never int(): Python refuses more than 4,300 digits
    if math.isfinite(double) and rfc8785.dumps(double) == literal.encode():
        return double
    return Refused(INTEGER_TOO_LARGE)
