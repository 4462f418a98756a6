"""The value before an edit: found again part by part, so that what a person left as it was keeps its encoding."""

from __future__ import annotations

from typing import TypeAlias, cast

from interlock.schema.containers import sort_key
from interlock.schema.forms import tree_to_plain
from interlock.schema.tags import TAG, Json, array_of, tag_of


class Nothing:
    """Where there was no value before the edit."""


NOTHING = Nothing()
Before: TypeAlias = "Json | Nothing"


class Known:
    """The items of an array before the edit: the one in the same place, or an equal one where items have moved."""

    def __init__(self, before: Before, tag: str | None) -> None:
        v: object = () if isinstance(before, Nothing) else before
        if tag is not None:
            v = cast("dict[str, object]", v).get("v") if tag_of(v) == tag else ()
        self._items = cast("list[Json]", v) if type(v) is list else []
        self._texts = [sort_key(cast("Json", tree_to_plain(item))) for item in self._items]
        self._places = {text: index for index, text in reversed(list(enumerate(self._texts)))}

    def find(self, index: int, item: object) -> Before:
        """Return the item from which a plain item at an index was edited."""
        if not self._items:
            return NOTHING
        text = sort_key(cast("Json", item))
        if index >= len(self._items) or self._texts[index] != text:
            index = self._places.get(text, index)
        return self._items[index] if index < len(self._items) else NOTHING


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


def kind_before(before: Before) -> Json:
    """Return the shape of a value whose type nobody declared, or None where JSON says it all."""
    if type(before) is list:
        return {"list": "any"}
    tag = tag_of(before)
    if type(before) is dict and tag in (None, "map"):
        return {"dict": ["any", "any"]}
    if tag in ("tuple", "set", "frozenset"):
        return {"tuple_of" if tag == "tuple" else tag: "any"}
    return tag if tag != "int" else None


def model_before(before: Before, label: str) -> tuple[dict[str, Json], frozenset[str]]:
    """Return the fields of a model of the type `label`, and which of them were left unset."""
    if isinstance(before, Nothing) or tag_of(before) != "model":
        return {}, frozenset()
    v = array_of(before, "model")
    if v[0] != label:
        return {}, frozenset()
    unset = cast("list[str]", v[2]) if len(v) == 3 else []
    return cast("dict[str, Json]", v[1]), frozenset(unset)
