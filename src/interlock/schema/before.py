"""The value before an edit: found again part by part, so that what a person left as it was keeps its encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from interlock.schema.containers import sort_key
from interlock.schema.forms import tree_to_plain
from interlock.schema.tags import TAG, Json, array_of, tag_of
from interlock.schema.texts import KINDS


class Nothing:
    """Where there was no value before the edit."""


NOTHING = Nothing()
Before: TypeAlias = "Json | Nothing"


def items_before(before: Before, tag: str | None, items: Sequence[object]) -> list[Before]:
    """Return for each plain item of an array the tree that it was edited from.

    That is the one in the same place, unless the item equals one that has moved.
    """
    v: object = None if isinstance(before, Nothing) else before
    if tag is not None:
        v = cast("dict[str, object]", v).get("v") if tag_of(v) == tag else None
    trees = cast("list[Json]", v) if type(v) is list else []
    if not trees:
        return [NOTHING] * len(items)
    old = [sort_key(cast("Json", tree_to_plain(tree))) for tree in trees]
    new = [sort_key(cast("Json", item)) for item in items]
    moved: dict[str, list[Json]] = {}
    for index, tree in reversed(list(enumerate(trees))):
        if index >= len(new) or new[index] != old[index]:
            moved.setdefault(old[index], []).append(tree)
    found: list[Before] = []
    for index, text in enumerate(new):
        here = trees[index] if index < len(trees) else NOTHING
        stays = index < len(old) and old[index] == text
        found.append(here if stays or not moved.get(text) else moved[text].pop())
    return found


def child(before: Before, name: str) -> Before:
    """Return the item of an object under a key."""
    if type(before) is not dict or TAG in before:
        return NOTHING
    return before.get(name, NOTHING)


def name_of(key: object, as_name: bool) -> str:
    """Write a plain key as text by which it is found: as the name in an object, or as one of a pair."""
    return key if as_name and type(key) is str else sort_key(cast("Json", key))


def dict_before(before: Before, as_names: bool) -> dict[str, tuple[Json, Json]]:
    """Return the keys and items of a dict by the text of the plain key."""
    pairs: list[tuple[Json, Json]] = []
    if type(before) is dict and TAG not in before:
        pairs = [*before.items()]
    elif tag_of(before) == "map":
        pairs = [(key, item) for key, item in cast("list[list[Json]]", array_of(before, "map"))]
    return {name_of(tree_to_plain(key), as_names): (key, item) for key, item in pairs}


def kind_before(before: Before, value: object) -> tuple[Json, bool]:
    """Return the shape that an undeclared value had, and whether a value of its JSON type must be of it.

    The shape is None where JSON says it all, or where the value is of another JSON type than before.
    """
    tag = tag_of(before)
    if type(value) is dict:
        return ({"dict": ["any", "any"]}, True) if type(before) is dict and tag in (None, "map") else (None, False)
    if type(value) is list:
        if type(before) is list:
            return {"list": "any"}, True
        if tag in ("tuple", "set", "frozenset"):
            return {"tuple_of" if tag == "tuple" else tag: "any"}, True
        return ({"dict": ["any", "any"]} if tag == "map" else None), False
    return (tag if tag in KINDS else None), False


def model_before(before: Before, label: str) -> tuple[dict[str, Json], frozenset[str]]:
    """Return the fields of a model of the type `label`, and which of them were left unset."""
    if isinstance(before, Nothing) or tag_of(before) != "model":
        return {}, frozenset()
    v = array_of(before, "model")
    if v[0] != label:
        return {}, frozenset()
    unset = cast("list[str]", v[2]) if len(v) == 3 else []
    return cast("dict[str, Json]", v[1]), frozenset(unset)
