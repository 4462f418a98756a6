"""Hides the arguments that a tool declares as sensitive, wherever people look; the stored ones stay as they are.

A path names an argument, or with dots what lies in it: `card_number`, `customer.card`. It goes through models,
objects and maps by name, and through every item of a list. Where a value has another form than the path expects, all
of it is hidden.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import cast

from interlock.canonical import Json, canonical_bytes

HIDDEN = "hidden"
"""The tag of what stands in for a hidden value; no encoding of a value has it."""

STAND_IN = re.compile(r"\[hidden · [^\]]{1,80}\]")
"""What stands in for a hidden value, as text."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ITEMS = ("tuple", "set", "frozenset")
_NUMBERS = ("int", "float", "decimal")


def hide(arguments: Mapping[str, Json], paths: Iterable[str], key: bytes = b"") -> dict[str, Json]:
    """The arguments as people may see them: what lies at the paths is replaced by what it is and how long.

    With a `key` (a secret of the card's own) equal values get an equal suffix, from which nothing can be guessed
    without it. None stays None: that there is no value may be seen.
    """
    shown = dict(arguments)
    for path in paths:
        head, *rest = path.split(".")
        if head in shown:
            shown[head] = _hidden(shown[head], rest, key)
    return shown


def find(arguments: Mapping[str, Json], path: str) -> list[Json]:
    """What lies at a path; several values where it goes through a list, none where nothing lies there."""
    head, *rest = path.split(".")
    return list(_found(arguments[head], rest)) if head in arguments else []


_SHORTEST_SECRET = 4
"""Sensitive values shorter than this are not looked for in what code says of a call: they stand everywhere."""


def veiled(text: str, arguments: Mapping[str, Json], paths: Iterable[str]) -> str:
    """The text without the sensitive values that stand in it as they are."""
    return _without(text, secrets_of(arguments, paths))


def secrets_of(arguments: Mapping[str, Json], paths: Iterable[str]) -> frozenset[str]:
    """The sensitive values as text may hold them, where they are long enough to be looked for."""
    return frozenset(each for path in paths for tree in find(arguments, path) for each in _leaves(tree))


def veiled_tree(tree: Json, secrets: Collection[str]) -> Json:
    """A value that code left behind (in an error, say) without the secrets that stand anywhere in it."""
    if isinstance(tree, list):
        return [veiled_tree(each, secrets) for each in tree]
    if isinstance(tree, dict):
        return {
            _without(name, secrets): each if name == "$t" else veiled_tree(each, secrets) for name, each in tree.items()
        }
    if tree is None or isinstance(tree, bool):
        return tree
    said = str(tree)
    shown = _without(said, secrets)
    return tree if shown == said else shown


def _without(text: str, secrets: Collection[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "[hidden]")
    return text


def _leaves(tree: Json) -> Iterator[str]:
    if isinstance(tree, dict):
        tree = [each for name, each in tree.items() if name != "$t"]
    if isinstance(tree, list):
        for each in tree:
            yield from _leaves(each)
    elif not isinstance(tree, bool) and tree is not None and len(said := str(tree)) >= _SHORTEST_SECRET:
        yield said
        if (escaped := repr(said)[1:-1]) != said:
            yield escaped


def is_hidden(tree: Json) -> bool:
    """Whether a value is one that stands in for a hidden one."""
    return isinstance(tree, dict) and tree.get("$t") == HIDDEN


def holds_hidden(tree: Json) -> bool:
    """Whether anything in a value is hidden."""
    if isinstance(tree, list):
        return any(map(holds_hidden, tree))
    return isinstance(tree, dict) and (is_hidden(tree) or any(map(holds_hidden, tree.values())))


def _hidden(tree: Json, rest: Sequence[str], key: bytes) -> Json:
    if tree is None or is_hidden(tree):
        return tree
    if not rest:
        return _stand_in(tree, key)
    if isinstance(tree, list):
        return [_hidden(item, rest, key) for item in tree]
    tag, v = _tagged(tree)
    if tag is None and isinstance(tree, dict):
        return _in_object(tree, rest, key)
    if tag == "model" and isinstance(v, list) and len(v) > 1 and isinstance(v[1], dict):
        return {"$t": tag, "v": [v[0], _in_object(v[1], rest, key)]}
    if tag in _ITEMS and isinstance(v, list):
        return {"$t": tag, "v": [_hidden(item, rest, key) for item in v]}
    if tag == "map" and isinstance(v, list):
        pairs = cast("list[list[Json]]", v)
        return {"$t": tag, "v": [[k, _hidden(x, rest[1:], key) if k == rest[0] else x] for k, x in pairs]}
    return _stand_in(tree, key)


def _in_object(tree: Mapping[str, Json], rest: Sequence[str], key: bytes) -> dict[str, Json]:
    return {name: _hidden(part, rest[1:], key) if name == rest[0] else part for name, part in tree.items()}


def _found(tree: Json, rest: Sequence[str]) -> Iterator[Json]:
    if not rest:
        yield tree
        return
    tag, v = _tagged(tree)
    inner = v[1] if tag == "model" and isinstance(v, list) and len(v) > 1 else v if tag in _ITEMS else tree
    if isinstance(inner, list):
        for item in inner:
            yield from _found(item, rest)
    elif tag == "map" and isinstance(v, list):
        for k, x in cast("list[list[Json]]", v):
            if k == rest[0]:
                yield from _found(x, rest[1:])
    elif isinstance(inner, dict) and rest[0] in inner and (tag is None or tag == "model"):
        yield from _found(inner[rest[0]], rest[1:])


def _stand_in(tree: Json, key: bytes) -> Json:
    suffix = f" · {_suffix(tree, key)}" if key else ""
    return {"$t": HIDDEN, "v": f"[hidden · {_size(tree)}{suffix}]"}


def _suffix(tree: Json, key: bytes) -> str:
    """Twenty bits by which equal values can be recognised; keyed, because many values could be guessed otherwise."""
    bits = int.from_bytes(hmac.digest(key, canonical_bytes(tree), hashlib.sha256)[:3], "big")
    return "".join(_ALPHABET[bits >> shift & 31] for shift in (15, 10, 5, 0))


def _size(tree: Json) -> str:
    tag, v = _tagged(tree)
    if isinstance(tree, str):
        return _count(len(tree), "character")
    if isinstance(tree, bool):
        return "yes or no"
    if isinstance(tree, int) or tag in _NUMBERS:
        return "number"
    if tag == "bytes" and isinstance(v, str):
        return _count(len(v) * 3 // 4, "byte")
    if tag == "blob" and isinstance(v, list):
        return f"{v[1]:,} bytes"
    items = v if tag in _ITEMS or tag == "map" else tree
    if isinstance(items, list):
        return _count(len(items), "item")
    if tag is not None:
        return str(v[0]) if tag in ("model", "enum") and isinstance(v, list) and v else tag
    return _count(len(cast("dict[str, Json]", tree)), "field")


def _count(number: int, one: str) -> str:
    return f"{number:,} {one if number == 1 else one + 's'}"


def _tagged(tree: Json) -> tuple[str | None, Json]:
    if isinstance(tree, dict) and isinstance(tag := tree.get("$t"), str):
        return tag, tree.get("v")
    return None, None
