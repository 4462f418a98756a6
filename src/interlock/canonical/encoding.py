"""RFC 8785 bytes: orjson where it provably agrees with the standard, else `rfc8785`."""

from __future__ import annotations

from itertools import chain
from typing import cast

import orjson
import rfc8785

from interlock.canonical.tree import MAX_DEPTH, Json, refuse

# orjson refuses on its own what these name: integers beyond 53 bits, subclasses of str,
# int, list and dict, dataclasses and dates. `is_simple` keeps the rest away from it.
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)

_STRINGS = frozenset({str})
_SCALARS = frozenset({str, int, bool, type(None)})


def canonical_bytes(tree: Json, *, root: str = "value") -> bytes:
    """Encode a tree as RFC 8785 (JSON Canonicalization Scheme) UTF-8 bytes.

    `root` names the tree in errors. Raises `CanonicalError` with the path of the
    offender for NaN and infinities, integers beyond ±(2^53-1), lone surrogates, keys
    that are not strings, depth over `MAX_DEPTH` (a cycle is one) and any type or subclass
    that `Json` does not list. There is no Unicode normalisation (RFC 8785 §3.1).
    """
    if is_simple(tree, MAX_DEPTH):
        encoded = sorted_bytes(tree)
        # orjson sorts keys by code point, the standard by UTF-16 unit; they part only when
        # a key lies beyond the BMP, and a look at the bytes rules that out for most trees.
        if encoded is not None and (encoded.isascii() or not _has_astral_key(tree)):
            return encoded
    refuse(tree, root)
    return rfc8785.dumps(tree)


def is_simple(node: object, room: int) -> bool:
    """Say whether a tree holds only exact strings, integers, booleans, nulls, lists and dicts.

    Floats are not simple: orjson writes 1.0, -0.0 and exponents in another way than
    RFC 8785 §3.2.2.3. The loops over elements run in C.
    """
    kind = type(node)
    if kind is dict:
        if not _STRINGS.issuperset(map(type, cast("dict[object, object]", node))):
            return False
        values = cast("dict[object, object]", node).values()
    elif kind is list:
        values = cast("list[object]", node)
    else:
        return kind in _SCALARS
    if not room:
        return False
    if _SCALARS.issuperset(map(type, values)):
        return True
    room -= 1
    for value in values:  # noqa: SIM110  (a generator costs more than the whole check)
        if type(value) not in _SCALARS and not is_simple(value, room):
            return False
    return True


def sorted_bytes(tree: object) -> bytes | None:
    """Encode a simple tree with orjson, or return None if it refuses (integers, surrogates)."""
    try:
        return orjson.dumps(tree, option=_OPTIONS)
    except orjson.JSONEncodeError:
        return None


def _has_astral_key(node: object) -> bool:
    if isinstance(node, dict):
        members = cast("dict[str, object]", node)
        if any(letter > "\uffff" for letter in chain.from_iterable(members)):
            return True
        return any(map(_has_astral_key, members.values()))
    return isinstance(node, list) and any(map(_has_astral_key, cast("list[object]", node)))
