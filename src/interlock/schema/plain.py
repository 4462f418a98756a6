"""From the plain JSON that a person writes to the typed encoding, by a shape and without the tool's code.

Strict: what could be meant in two ways is refused. Where the value before the edit is known, what the person left as
it was keeps its encoding, and what they changed stays of the kind that it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from interlock.schema.before import (
    NOTHING,
    Before,
    Nothing,
    child,
    dict_before,
    items_before,
    kind_before,
    model_before,
    name_of,
)
from interlock.schema.codecs import FLOATING, INT, TEXT
from interlock.schema.compare import same
from interlock.schema.containers import ANY, sort_key
from interlock.schema.definitions import Definitions
from interlock.schema.errors import SchemaError, key_path
from interlock.schema.forms import fits, tree_to_plain
from interlock.schema.tags import TAG, Json, array_of, tag_of, tagged, text_of
from interlock.schema.texts import (
    EXACT,
    KINDS,
    READ,
    Written,
    check_json,
    check_tree_depth,
    expected,
    is_float,
    refused,
    scalar,
)

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,4299}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def plain_to_tree(shape: Json, value: object, path: str, before: Before = NOTHING) -> Json:
    """Encode a plain JSON value, as `json.loads` gives it, for a shape (see `shapes`).

    `before` is the tree that the value was edited from, if there is one. A value, or a part, that is in typed encoding
    already is taken if it fits; in an `any`, and where any key may stand, `$t` is a key like others. Raises SchemaError
    (`arguments_invalid`) whose path starts with `path`.
    """
    try:
        check_json(value, 0)
        definitions = Definitions(shape)
        tree, _ = Writer(definitions).write(definitions.root, value, before)
        check_tree_depth(tree)
    except SchemaError as error:
        error.under(path)
        raise SchemaError(error.path, " ".join(error.reason.split())[:300], "arguments_invalid") from None
    return tree


class Writer:
    """Writes plain values as trees; one for each shape. Errors carry the path from the value on."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def write(self, shape: Json, value: object, before: Before = NOTHING) -> Written:
        """Return the tree of a value and how well the value fits."""
        if not isinstance(before, Nothing) and same(tree_to_plain(before), value):
            return before, EXACT
        kind, inner = self._definitions.kind(shape)
        method: Callable[[Any, object, Before], Written] | None = getattr(self, f"_{kind}", None)
        if method is not None:
            return method(inner, value, before)
        if kind in KINDS:
            return scalar(kind, value)
        if kind == "none" and value is None:
            return None, EXACT
        if kind == "bool" and type(value) is bool:
            return value, EXACT
        if kind == "str" and type(value) is str:
            return TEXT.write(value, 0), EXACT
        raise expected(self._definitions.name(shape), value)

    def _at(self, piece: str, shape: Json, value: object, before: Before) -> Written:
        try:
            return self.write(shape, value, before)
        except SchemaError as error:
            error.under(piece)
            raise

    # -- numbers, secrets, anything ---------------------------------------------------------------

    def _int(self, _: object, value: object, _before: Before) -> Written:
        if type(value) is int:
            return INT.write(value, 0), EXACT
        text = text_of(value, "int") if tag_of(value) == "int" else value
        if type(text) is str and _INTEGER.fullmatch(text):
            return INT.write(int(text), 0), READ
        raise expected("int", value)

    def _float(self, _: object, value: object, _before: Before) -> Written:
        if type(value) is float:
            return FLOATING.write(value, 0), EXACT
        if type(value) is int:
            if abs(value) > 2**53 and not is_float(value):
                raise refused("an integer that no float equals")
            return FLOATING.write(float(value), 0), READ
        if tag_of(value) == "float":
            return scalar("float", value)
        raise expected("float", value)

    def _secret(self, _: object, value: object, _before: Before) -> Written:
        if tag_of(value) == "secret":
            (reference,) = array_of(value, "secret", 1)
            if type(reference) is str:
                return tagged("secret", [reference]), EXACT
        raise refused('expected a reference to a secret, {"$t": "secret", "v": ["env://NAME"]}')

    def _any(self, _: object, value: object, before: Before) -> Written:
        kind, certain = kind_before(before, value)
        if kind is not None and (certain or self._takes(kind, value)):
            return self.write(kind, value, before)
        return ANY.write(value, 0), EXACT

    # -- lists and their like -----------------------------------------------------------------------

    def _items(
        self, shapes: Json | list[Json], value: object, tag: str | None, before: Before
    ) -> tuple[list[Json], int]:
        """Write the items of an array; `shapes` is one for all, or a list of one for each place."""
        items = array_of(value, tag) if tag is not None and tag_of(value) == tag else value
        if type(items) is not list:
            raise expected(tag or "list", value)
        old = items_before(before, tag, cast("list[object]", items))
        trees: list[Json] = []
        worst = EXACT
        for index, item in enumerate(cast("list[object]", items)):
            shape = shapes[index] if type(shapes) is list else shapes
            tree, cost = self._at(f"[{index}]", shape, item, old[index])
            trees.append(tree)
            worst = max(worst, cost)
        return trees, worst

    def _list(self, inner: Json, value: object, before: Before) -> Written:
        return self._items(inner, value, None, before)

    def _tuple_of(self, inner: Json, value: object, before: Before) -> Written:
        trees, cost = self._items(inner, value, "tuple", before)
        return tagged("tuple", trees), cost

    def _tuple(self, inner: list[Json], value: object, before: Before) -> Written:
        items: object = array_of(value, "tuple") if tag_of(value) == "tuple" else value
        if type(items) is list and len(cast("list[object]", items)) != len(inner):
            raise refused(f"expected {len(inner)} items, found {len(cast('list[object]', items))}")
        trees, cost = self._items(inner, value, "tuple", before)
        return tagged("tuple", trees), cost

    def _set(self, inner: Json, value: object, before: Before, tag: str = "set") -> Written:
        trees, cost = self._items(inner, value, tag, before)
        _check_distinct(trees, f"items of a {tag}")
        return tagged(tag, sorted(trees, key=sort_key)), cost

    def _frozenset(self, inner: Json, value: object, before: Before) -> Written:
        return self._set(inner, value, before, "frozenset")

    # -- dicts ----------------------------------------------------------------------------------------

    def _dict(self, inner: list[Json], value: object, before: Before) -> Written:
        names = type(value) is dict
        known = dict_before(before, names)
        pairs: list[list[Json]] = []
        worst = EXACT
        for key, item, piece in self._given(inner[0], value):
            was = known.get(name_of(key, names))
            try:
                name, cost = self._key(inner[0], key, names) if was is None else (was[0], EXACT)
                tree, other = self.write(inner[1], item, NOTHING if was is None else was[1])
            except SchemaError as error:
                error.under(piece)
                raise
            pairs.append([name, tree])
            worst = max(worst, cost, other)
        _check_distinct([key for key, _ in pairs], "keys of a dict")
        if all(type(key) is str and key != TAG for key, _ in pairs):
            return {cast("str", key): item for key, item in pairs}, worst
        return tagged("map", cast("list[Json]", sorted(pairs, key=lambda pair: sort_key(pair[0])))), worst

    def _given(self, key_shape: Json, value: object) -> list[tuple[object, object, str]]:
        """List the keys and items of what stands for a dict, with their pieces of the path."""
        plain: object = value
        if tag_of(value) == "map" and not self._takes(key_shape, TAG):
            plain = array_of(value, "map")
        if type(plain) is dict:
            return [(key, item, key_path(key)) for key, item in cast("dict[str, object]", plain).items()]
        items = cast("list[object]", plain) if type(plain) is list else []
        if not items:
            raise expected("dict", value)
        out: list[tuple[object, object, str]] = []
        for index, pair in enumerate(items):
            if type(pair) is not list or len(cast("list[object]", pair)) != 2:
                raise refused("expected an object, or a list of pairs of a key and its value")
            out.append((*cast("list[object]", pair), f"[{index}]"))  # pyright: ignore[reportArgumentType] - of length two
        return out

    def _key(self, shape: Json, key: object, is_name: bool) -> Written:
        """Write a key; as the name in an object it is text, whatever its type."""
        try:
            return self.write(shape, key)
        except SchemaError:
            if not is_name or not (key in ("true", "false", "null") or _NUMBER.fullmatch(cast("str", key))):
                raise
            return self.write(shape, json.loads(cast("str", key)))[0], READ

    def _takes(self, shape: Json, value: object) -> bool:
        try:
            self.write(shape, value)
        except SchemaError:
            return False
        return True

    # -- choices --------------------------------------------------------------------------------------

    def _union(self, inner: list[Json], value: object, before: Before) -> Written:
        found: list[tuple[tuple[bool, int], Json]] = []
        errors: list[SchemaError] = []
        for member in inner:
            was = not isinstance(before, Nothing) and fits(self._definitions, member, before)
            try:
                tree, cost = self.write(member, value, before if was else NOTHING)
            except SchemaError as error:
                errors.append(error)
            else:
                found.append(((not was, cost), tree))
        if not found:
            raise self._none_fits(inner, value, errors)
        best = min(rank for rank, _ in found)
        trees = [tree for rank, tree in found if rank == best]
        if any(not same(tree, trees[0]) for tree in trees):
            raise _ambiguous(trees)
        return trees[0], best[1]

    def _none_fits(self, inner: list[Json], value: object, errors: Sequence[SchemaError]) -> SchemaError:
        """Choose the words for a value that no member takes: those of the member that came furthest."""
        furthest = max(errors, key=lambda error: len(error.path))
        if furthest.path:
            return furthest
        real = [
            error for member, error in zip(inner, errors, strict=True) if self._definitions.kind(member)[0] != "none"
        ]
        if len(real) == 1:
            return real[0]
        return expected(" | ".join(self._definitions.name(member) for member in inner), value)

    def _literal(self, inner: list[Json], value: object, _before: Before) -> Written:
        trees: list[Json] = []
        for choice in inner:
            if type(choice) is not list:
                if same(choice, value):
                    return choice, EXACT
                continue
            tag, v, plain = cast("tuple[str, Json, Json]", choice)
            tree: Json = {TAG: tag, "v": v}
            if any(same(form, value) for form in (plain, tree, tree_to_plain(tree))):
                trees.append(tree)
        return _only(trees, self._definitions.name({"literal": inner}), value)

    def _enum(self, inner: list[Any], value: object, _before: Before) -> Written:
        label, members, *flags = cast("tuple[str, list[list[Json]], bool]", inner)
        names = {cast("str", member[0]): cast("str", member[1]) for member in members}
        if tag_of(value) == "enum":
            given, value = array_of(value, "enum", 2)
            if given != label:
                raise refused(f"expected {label}, found another enum")
            members = []
        stored = [cast("str", member[1]) for member in members if len(member) > 2 and same(member[2], value)]
        if type(value) is str:
            parts = value.split("|") if flags and value else []
            if value in names:
                stored.append(names[value])
            elif flags and all(part in names for part in parts):
                bits = {bit for part in parts for bit in names[part].split("|")}
                stored.append("|".join(name for name, own in names.items() if name == own and name in bits))
        trees: list[Json] = [tagged("enum", [label, name]) for name in stored]
        return _only(trees, f"one of {', '.join(names)}", value)

    # -- things with named parts ----------------------------------------------------------------------

    def _record(self, inner: dict[str, list[Json]], value: object, before: Before) -> Written:
        if type(value) is not dict:
            raise expected("object", value)
        out: dict[str, Json] = {}
        worst = EXACT
        items = cast("dict[str, object]", value)
        for name, item in items.items():
            if name not in inner:
                raise SchemaError(key_path(name), "no such key", "arguments_invalid")
            out[name], cost = self._at(key_path(name), inner[name][0], item, child(before, name))
            worst = max(worst, cost)
        for name, part in inner.items():
            if part[1] and name not in items:
                raise SchemaError(key_path(name), "is required", "arguments_invalid")
        return out, worst

    def _model(self, inner: list[Any], value: object, before: Before) -> Written:
        label, fields, *rest = inner
        options: dict[str, Any] = rest[0] if rest else {}
        items, left_unset = _model_parts(label, value)
        for name, alias in options.get("alias", {}).items():
            if alias in items and alias not in fields and name not in items:
                items[name] = items.pop(alias)
        unset = {name for name in fields if name not in items} | left_unset
        out: dict[str, Json] = {}
        worst = EXACT
        old, old_unset = model_before(before, label)
        for name, part in fields.items():
            if name in items:
                was = old.get(name, NOTHING)
                out[name], cost = self._at(key_path(name), part[0], items[name], was)
                worst = max(worst, cost)
                if name in old_unset and not isinstance(was, Nothing) and same(out[name], was):
                    unset.add(name)
            elif part[1]:
                raise SchemaError(key_path(name), "is required", "arguments_invalid")
            else:
                out[name] = json.loads(part[2])
        for name in items.keys() - fields.keys():
            if not options.get("extra") or name == TAG:
                raise SchemaError(key_path(name), f"{label} has no such field", "arguments_invalid")
            out[name], _ = self._at(key_path(name), "any", items[name], old.get(name, NOTHING))
        body: list[Json] = [label, out]
        if options.get("as") == "pydantic" and unset:
            body.append([*sorted(unset & fields.keys())])
        return tagged("model", body), worst


def _model_parts(label: str, value: object) -> tuple[dict[str, object], set[str]]:
    """Return the fields that are given, and which of them are said to be unset."""
    unset: list[object] = []
    if tag_of(value) == "model":
        v = array_of(value, "model")
        if len(v) not in (2, 3) or v[0] != label:
            raise refused(f"expected {label}, found another model")
        value = v[1]
        unset = cast("list[object]", v[2]) if len(v) == 3 and type(v[2]) is list else []
    if type(value) is not dict:
        raise expected(label, value)
    items = dict(cast("dict[str, object]", value))
    return items, {name for name in unset if type(name) is str and name in items}


def _only(trees: list[Json], what: str, value: object) -> Written:
    if not trees:
        raise expected(what, value)
    if any(tree != trees[0] for tree in trees):
        raise _ambiguous(trees)
    return trees[0], READ


def _ambiguous(trees: Sequence[Json]) -> SchemaError:
    example = next((tree for tree in trees if tag_of(tree)), trees[0])
    return refused(f"could be meant in {len(trees)} ways; write the one you mean, such as {json.dumps(example)[:120]}")


def _check_distinct(trees: Sequence[Json], what: str) -> None:
    """Refuse members that are equal in Python although they are written differently, such as 1 and 1.0."""
    found: set[object] = set()
    for tree in trees:
        try:
            member = ANY.read(tree, 0)
        except SchemaError:
            member = sort_key(tree)  # of a class that is not known here
        try:
            if member in found:
                raise refused(f"two {what} are equal")
            found.add(member)
        except TypeError:
            raise refused(f"the {what} cannot be lists, dicts or sets") from None
