"""The alphabet of the typed encoding, version 1: what a tree is made of.

Null, booleans, strings and integers within ±(2^53-1) are themselves, lists are arrays, dicts with string keys are
objects; everything else is `{"$t": tag, "v": string or array}`. A dict of the user's that has a key `$t` is written
as `map`, so an object with that key is always a tag and never data. Digests freeze these forms: a change is a new
version, not an edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, cast

from interlock.schema.errors import not_decodable, not_storable

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

ENCODING_VERSION = 1
TAG = "$t"
MAX_SAFE_INT = 2**53 - 1
# Levels of arrays and objects in the encoded tree of one value, the objects of tags included.
MAX_DEPTH = 32
# Of these, the levels that arguments and results leave free for the document that will carry them (event, body, …),
# because the canonical bytes of that document are held to the same limit, after it is too late to refuse.
ENVELOPE = 4


@dataclass(frozen=True, slots=True)
class SecretRef:
    """A reference to a secret, such as `env://STRIPE_KEY`, in the place of the secret itself.

    It is what stands in arguments, on cards and in logs; the executor resolves it when the action runs.
    """

    reference: str


def tagged(tag: str, v: str | list[Json]) -> dict[str, Json]:
    """Make the object `{"$t": tag, "v": v}`."""
    return {TAG: tag, "v": v}


def tag_of(tree: object) -> str | None:
    """Tell the tag of a tree, or None if it is not a tagged object."""
    if type(tree) is dict:
        tag = cast("dict[str, object]", tree).get(TAG)
        if type(tag) is str:
            return tag
    return None


def is_object(tree: object) -> bool:
    """Tell whether a tree is an object of data and not of a tag."""
    return type(tree) is dict and TAG not in cast("dict[str, object]", tree)


def text_of(tree: object, tag: str) -> str:
    """Return the string `v` of an object tagged `tag`; raises SchemaError (`not_decodable`)."""
    v = _v_of(tree, tag)
    if type(v) is not str:
        raise not_decodable(f"the tag {tag} needs a string")
    return v


def array_of(tree: object, tag: str, length: int | None = None) -> list[Json]:
    """Return the array `v` of an object tagged `tag`, of `length` items if given; raises SchemaError."""
    v = _v_of(tree, tag)
    if type(v) is not list:
        raise not_decodable(f"the tag {tag} needs an array")
    items = cast("list[Json]", v)
    if length is not None and len(items) != length:
        raise not_decodable(f"the tag {tag} needs {length} items, not {len(items)}")
    return items


def _v_of(tree: object, tag: str) -> object:
    if tag_of(tree) != tag:
        raise not_decodable(f"expected the tag {tag}, found {shape(tree)}")
    body = cast("dict[str, object]", tree)
    if body.keys() != {TAG, "v"}:
        raise not_decodable(f"the tag {tag} has exactly the keys $t and v")
    return body["v"]


def shape(tree: object) -> str:
    """Name the shape of a tree in words, for messages, such as `null`, `an array` or `the tag datetime`."""
    tag = tag_of(tree)
    if tag is not None:
        return f"the tag {tag[:40]}"
    if tree is None:
        return "null"
    names: dict[type[object], str] = {
        bool: "a boolean",
        int: "an integer",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(tree), f"a {type(tree).__name__}, which is not part of the encoding")


def check_text(text: str) -> None:
    """Refuse lone surrogates, which have no UTF-8; raises SchemaError (`not_storable`)."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise not_storable(f"lone surrogate at character {error.start}") from None


def check_depth(depth: int) -> None:
    """Refuse a tree of more than 32 levels, which is also what a cyclic value would need."""
    if depth > MAX_DEPTH:
        raise not_storable(f"nested more than {MAX_DEPTH} levels deep, or contains itself")


def check_read_depth(depth: int) -> None:
    """Refuse to read a tree of more than 32 levels."""
    if depth > MAX_DEPTH:
        raise not_decodable(f"nested more than {MAX_DEPTH} levels deep")
