"""Trees in plain JSON: as people read and edit them, and as the JSON Schema of a tool describes them."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from decimal import Decimal
from typing import Any, cast

from interlock.schema.compare import same
from interlock.schema.definitions import Definitions
from interlock.schema.errors import SchemaError, not_decodable
from interlock.schema.scalars import SCALARS
from interlock.schema.tags import Json, array_of, is_object, shape, tag_of, text_of

_TEXTS = frozenset({kind.tag for kind in SCALARS} | {"path"})


def tree_to_plain(tree: Json) -> object:
    """Turn a tree into JSON values for people to read and to edit.

    Floats are numbers, decimals and times strings, bytes base64url; tuples and sets become lists, models objects, enum
    members their names, maps lists of pairs. What was never stored here (secrets, blobs, opaque results) becomes a
    description in brackets. `plain_to_tree` is the inverse wherever the declared type says what a value was; in an
    `any`, only JSON's own types come back as they were.
    """
    if type(tree) is list:
        return [tree_to_plain(item) for item in tree]
    if type(tree) is not dict:
        return tree
    tag = tag_of(tree)
    if tag is None:
        return {name: tree_to_plain(item) for name, item in tree.items()}
    v = tree.get("v")
    if type(v) is str:
        return int(v) if tag == "int" else float(v) if tag == "float" else v
    return _array_to_plain(tag, v) if type(v) is list else f"[{tag}]"


def _array_to_plain(tag: str, v: list[Json]) -> object:
    if tag == "map":
        pairs = cast("list[list[Json]]", v)
        if all(type(key) is str for key, _ in pairs):
            return {cast("str", key): tree_to_plain(item) for key, item in pairs}
        return tree_to_plain(v)
    if tag in ("tuple", "set", "frozenset"):
        return tree_to_plain(v)
    if tag == "model":
        return tree_to_plain(v[1])
    if tag == "enum":
        return v[1]
    if tag == "blob":
        return f"[{v[1]:,} bytes, {v[2]}, {v[0]}]"
    return f"[{tag} {' '.join(str(each) for each in v[:2])}]"


class Describer:
    """A tree as Pydantic would have it in JSON; raises SchemaError (`not_decodable`) where it does not fit its shape.

    A decimal may be a number or a string: only as a number are its bounds checked, only as a string its pattern.
    `unchecked` holds the places about which the schema need not be asked. Bytes become
    one character each, because their length is what is bounded.
    """

    def __init__(self, definitions: Definitions, decimals_as_text: bool = False) -> None:
        self._definitions = definitions
        self._as_text = decimals_as_text
        self.unchecked: list[tuple[str | int, ...]] = []

    def of(self, shaped: Json, tree: Json, at: tuple[str | int, ...]) -> object:
        """Return the JSON value of a tree that lies at the place `at`."""
        kind, inner = self._definitions.kind(shaped)
        method = getattr(self, f"_{kind}", None)
        if method is not None:
            return method(inner, tree, at)
        if kind in ("str", "bytes") and tag_of(tree) == "blob":
            self.unchecked.append(at)
            return ""
        if kind in _NATIVE:
            return _need(type(tree) in _NATIVE[kind], tree, tree)
        return self._text(kind, tree)

    def _text(self, kind: str, tree: Json) -> object:
        tag = "path" if kind == "windows_path" else kind
        text = text_of(tree, tag)
        if tag == "bytes":
            return urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("latin-1")
        if tag == "decimal":
            return format(Decimal(text), "f") if self._as_text else Decimal(text)
        return _need(tag in _TEXTS, tree, text)

    def _any(self, _: object, tree: Json, _at: tuple[str | int, ...]) -> object:
        return tree_to_plain(tree)

    def _int(self, _: object, tree: Json, _at: tuple[str | int, ...]) -> object:
        return int(text_of(tree, "int")) if tag_of(tree) else _need(type(tree) in (int, bool), tree, tree)

    def _float(self, _: object, tree: Json, at: tuple[str | int, ...]) -> object:
        return float(text_of(tree, "float")) if tag_of(tree) == "float" else self._int(_, tree, at)

    def _secret(self, _: object, tree: Json, _at: tuple[str | int, ...]) -> object:
        return {"reference": array_of(tree, "secret", 1)[0]}

    def _all(self, shaped: Json, trees: list[Json], at: tuple[str | int, ...]) -> list[object]:
        return [self.of(shaped, item, (*at, index)) for index, item in enumerate(trees)]

    def _list(self, inner: Json, tree: Json, at: tuple[str | int, ...]) -> object:
        return self._all(inner, cast("list[Json]", _need(type(tree) is list, tree, tree)), at)

    def _tuple_of(self, inner: Json, tree: Json, at: tuple[str | int, ...]) -> object:
        return self._all(inner, array_of(tree, "tuple"), at)

    def _set(self, inner: Json, tree: Json, at: tuple[str | int, ...]) -> object:
        return self._all(inner, array_of(tree, "set"), at)

    def _frozenset(self, inner: Json, tree: Json, at: tuple[str | int, ...]) -> object:
        return self._all(inner, array_of(tree, "frozenset"), at)

    def _tuple(self, inner: list[Json], tree: Json, at: tuple[str | int, ...]) -> object:
        trees = array_of(tree, "tuple", len(inner))
        return [self.of(part, item, (*at, i)) for i, (part, item) in enumerate(zip(inner, trees, strict=True))]

    def _dict(self, inner: list[Json], tree: Json, at: tuple[str | int, ...]) -> object:
        if is_object(tree):
            pairs = [[key, item] for key, item in cast("dict[str, Json]", tree).items()]
        else:
            pairs = cast("list[list[Json]]", array_of(tree, "map"))
        out: dict[str, object] = {}
        for key, item in pairs:
            plain = self.of(inner[0], key, at)
            name = plain if type(plain) is str else json.dumps(plain, default=str)
            out[name] = self.of(inner[1], item, (*at, name))
        return out

    def _union(self, inner: list[Json], tree: Json, at: tuple[str | int, ...]) -> object:
        for member in inner:
            kept = len(self.unchecked)
            try:
                return self.of(member, tree, at)
            except SchemaError:
                del self.unchecked[kept:]
        raise not_decodable(f"found {shape(tree)}, which no member of the union is")

    def _literal(self, inner: list[Json], tree: Json, at: tuple[str | int, ...]) -> object:
        # That it is among the values is known here, and Pydantic may write values in other ways; so with enums.
        self.unchecked.append(at)
        for choice in inner:
            if type(choice) is not list:
                if same(choice, tree):
                    return choice
            elif tag_of(tree) == choice[0] and cast("dict[str, Json]", tree)["v"] == choice[1]:
                return choice[2]
        raise not_decodable(f"found {shape(tree)}, which is not among the values")

    def _enum(self, inner: list[Any], tree: Json, at: tuple[str | int, ...]) -> object:
        label, name = array_of(tree, "enum", 2)
        _need(label == inner[0], tree, None)
        self.unchecked.append(at)
        # The schema lists the single bits of flags only.
        first = str(name).partition("|")[0]
        values = [member[2] for member in inner[1] if len(member) > 2 and member[1] in (name, first)]
        return values[0] if values else name

    def _record(self, inner: dict[str, list[Json]], tree: Json, at: tuple[str | int, ...]) -> object:
        _need(is_object(tree), tree, None)
        items = cast("dict[str, Json]", tree)
        _need(items.keys() <= inner.keys() and all(key in items or not part[1] for key, part in inner.items()), tree, 0)
        return {key: self.of(inner[key][0], item, (*at, key)) for key, item in items.items()}

    def _model(self, inner: list[Any], tree: Json, at: tuple[str | int, ...]) -> object:
        v = array_of(tree, "model")
        _need(v[0] == inner[0] and type(v[1]) is dict, tree, None)
        items = cast("dict[str, Json]", v[1])
        fields: dict[str, list[Json]] = inner[1]
        options: dict[str, Any] = inner[2] if len(inner) > 2 else {}
        _need(all(name in items or not part[1] for name, part in fields.items()), tree, None)
        _need(items.keys() <= fields.keys() or bool(options.get("extra")), tree, None)
        if options.get("as") == "namedtuple":
            return [self.of(part[0], items[name], (*at, i)) for i, (name, part) in enumerate(fields.items())]
        out: dict[str, object] = {}
        for name, item in items.items():
            shown = options.get("alias", {}).get(name, name)
            out[shown] = self.of(fields[name][0] if name in fields else "any", item, (*at, shown))
        return out


_NATIVE: dict[str, tuple[type[object], ...]] = {"none": (type(None),), "bool": (bool,), "str": (str,)}


def _need(holds: bool, tree: Json, value: object) -> object:
    if not holds:
        raise not_decodable(f"found {shape(tree)}")
    return value


def fits(definitions: Definitions, shaped: Json, tree: Json) -> bool:
    """Tell whether a tree is one of the shape, all the way down."""
    try:
        Describer(definitions).of(shaped, tree, ())
    except SchemaError:
        return False
    return True
