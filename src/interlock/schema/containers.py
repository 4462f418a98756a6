"""Codecs of lists, tuples, sets and dicts, and the codec of values whose type nobody declared."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import cast

from typing_extensions import override

from interlock.schema.codecs import BOOL, FLOATING, NULL, SECRET, TEXT, Codec, Scalar, Union
from interlock.schema.errors import SchemaError, key_path, not_decodable
from interlock.schema.reasons import why_not
from interlock.schema.scalars import PATH, SCALARS
from interlock.schema.tags import (
    TAG,
    Json,
    SecretRef,
    array_of,
    check_depth,
    check_read_depth,
    is_object,
    shape,
    tag_of,
    tagged,
)


def _write_all(items: Iterable[object], codec: Codec, depth: int) -> list[Json]:
    trees: list[Json] = []
    write = codec.write
    try:
        for item in items:
            trees.append(write(item, depth))  # noqa: PERF401 - the length is the index in the path of an error
    except SchemaError as error:
        error.under(f"[{len(trees)}]")
        raise
    return trees


def _read_all(trees: Sequence[object], codec: Codec, depth: int) -> list[object]:
    items: list[object] = []
    try:
        for tree in trees:
            items.append(codec.read(tree, depth))  # noqa: PERF401 - as above
    except SchemaError as error:
        error.under(f"[{len(items)}]")
        raise
    return items


def sort_key(tree: Json) -> str:
    """Order trees by their text: what makes the encoding of a set or a map one and not many."""
    return json.dumps(tree, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _check_order(trees: Sequence[Json], tag: str) -> None:
    keys = [sort_key(tree) for tree in trees]
    if any(left >= right for left, right in itertools.pairwise(keys)):
        raise not_decodable(f"the items of a {tag} are sorted and differ")


class ListOf(Codec):
    """Lists, which are arrays."""

    def __init__(self, item: Codec, type_name: str | None = None) -> None:
        self.type_name = type_name or f"list[{item.type_name}]"
        self._item = item

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not list:
            raise why_not(value, self.type_name)
        check_depth(depth + 1)
        return _write_all(cast("list[object]", value), self._item, depth + 1)

    @override
    def read(self, tree: object, depth: int) -> object:
        if type(tree) is not list:
            raise not_decodable(f"expected {self.type_name}, found {shape(tree)}")
        check_read_depth(depth + 1)
        return _read_all(cast("list[object]", tree), self._item, depth + 1)

    @override
    def takes(self, value: object) -> bool:
        return type(value) is list

    @override
    def knows(self, tree: object) -> bool:
        return type(tree) is list

    @override
    def parts(self) -> Iterable[Codec]:
        return (self._item,)


class TupleOf(Codec):
    """Tuples of any length with items of one type: `tuple[T, ...]`."""

    def __init__(self, item: Codec, type_name: str | None = None) -> None:
        self.type_name = type_name or f"tuple[{item.type_name}, ...]"
        self._item = item

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not tuple:
            raise why_not(value, self.type_name)
        check_depth(depth + 2)
        return tagged("tuple", _write_all(cast("tuple[object, ...]", value), self._item, depth + 2))

    @override
    def read(self, tree: object, depth: int) -> object:
        trees = array_of(tree, "tuple")
        check_read_depth(depth + 2)
        return tuple(_read_all(trees, self._item, depth + 2))

    @override
    def takes(self, value: object) -> bool:
        return type(value) is tuple

    @override
    def knows(self, tree: object) -> bool:
        return tag_of(tree) == "tuple"

    @override
    def parts(self) -> Iterable[Codec]:
        return (self._item,)


class FixedTuple(Codec):
    """Tuples of a fixed length, each place with its own type: `tuple[int, str]`."""

    def __init__(self, items: Sequence[Codec]) -> None:
        self.type_name = f"tuple[{', '.join(item.type_name for item in items) or '()'}]"
        self._items = tuple(items)

    @override
    def write(self, value: object, depth: int) -> Json:
        if not self.takes(value):
            raise why_not(value, self.type_name)
        check_depth(depth + 2)
        trees: list[Json] = []
        for index, (item, codec) in enumerate(zip(cast("tuple[object, ...]", value), self._items, strict=True)):
            try:
                trees.append(codec.write(item, depth + 2))
            except SchemaError as error:
                error.under(f"[{index}]")
                raise
        return tagged("tuple", trees)

    @override
    def read(self, tree: object, depth: int) -> object:
        trees = array_of(tree, "tuple", len(self._items))
        check_read_depth(depth + 2)
        items: list[object] = []
        for index, (item, codec) in enumerate(zip(trees, self._items, strict=True)):
            try:
                items.append(codec.read(item, depth + 2))
            except SchemaError as error:
                error.under(f"[{index}]")
                raise
        return tuple(items)

    @override
    def takes(self, value: object) -> bool:
        return type(value) is tuple and len(cast("tuple[object, ...]", value)) == len(self._items)

    @override
    def knows(self, tree: object) -> bool:
        if tag_of(tree) != "tuple":
            return False
        v = cast("dict[str, object]", tree).get("v")
        return type(v) is list and len(cast("list[object]", v)) == len(self._items)

    @override
    def parts(self) -> Iterable[Codec]:
        return self._items


class SetOf(Codec):
    """Sets and frozensets, sorted by the encoding of their items."""

    def __init__(self, item: Codec, frozen: bool, type_name: str | None = None) -> None:
        self._kind: type[frozenset[object]] | type[set[object]] = frozenset if frozen else set
        self._tag = "frozenset" if frozen else "set"
        self.type_name = type_name or f"{self._tag}[{item.type_name}]"
        self._item = item

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not self._kind:
            raise why_not(value, self.type_name)
        check_depth(depth + 2)
        trees: list[Json] = []
        for item in cast("set[object]", value):
            try:
                trees.append(self._item.write(item, depth + 2))
            except SchemaError as error:
                # A set has no places; the item is named by itself.
                error.under("{…}")
                raise
        return tagged(self._tag, sorted(trees, key=sort_key))

    @override
    def read(self, tree: object, depth: int) -> object:
        trees = array_of(tree, self._tag)
        check_read_depth(depth + 2)
        items = _read_all(trees, self._item, depth + 2)
        _check_order(trees, self._tag)
        try:
            value = self._kind(items)
        except TypeError:
            raise not_decodable(f"an item of a {self._tag} must be hashable") from None
        if len(value) != len(items):
            raise not_decodable(f"two items of a {self._tag} are equal")
        return value

    @override
    def takes(self, value: object) -> bool:
        return type(value) is self._kind

    @override
    def knows(self, tree: object) -> bool:
        return tag_of(tree) == self._tag

    @override
    def parts(self) -> Iterable[Codec]:
        return (self._item,)


class DictOf(Codec):
    """Dicts: an object if every key is a string and none is `$t`, else a `map` of sorted pairs."""

    def __init__(self, key: Codec, item: Codec, type_name: str | None = None) -> None:
        self.type_name = type_name or f"dict[{key.type_name}, {item.type_name}]"
        self._key = key
        self._item = item

    @override
    def write(self, value: object, depth: int) -> Json:
        if type(value) is not dict:
            raise why_not(value, self.type_name)
        pairs = cast("dict[object, object]", value)
        if TAG in pairs or any(type(key) is not str for key in pairs):
            return self._write_map(pairs, depth)
        check_depth(depth + 1)
        out: dict[str, Json] = {}
        for key, item in pairs.items():
            try:
                name = self._key.write(key, depth + 1)
                out[cast("str", name)] = self._item.write(item, depth + 1)
            except SchemaError as error:
                error.under(key_path(key))
                raise
        return out

    def _write_map(self, pairs: dict[object, object], depth: int) -> Json:
        check_depth(depth + 3)
        trees: list[list[Json]] = []
        for key, item in pairs.items():
            try:
                trees.append([self._key.write(key, depth + 3), self._item.write(item, depth + 3)])
            except SchemaError as error:
                error.under(key_path(key))
                raise
        return tagged("map", cast("list[Json]", sorted(trees, key=lambda pair: sort_key(pair[0]))))

    @override
    def read(self, tree: object, depth: int) -> object:
        if is_object(tree):
            check_read_depth(depth + 1)
            pairs = list(cast("dict[str, object]", tree).items())
            return self._read_pairs(pairs, depth + 1)
        if tag_of(tree) != "map":
            raise not_decodable(f"expected {self.type_name}, found {shape(tree)}")
        check_read_depth(depth + 3)
        trees = array_of(tree, "map")
        pairs = [_pair(pair) for pair in trees]
        _check_order([key for key, _ in pairs], "map")
        if all(type(key) is str and key != TAG for key, _ in pairs):
            raise not_decodable("a map with nothing but string keys is written as an object")
        return self._read_pairs(pairs, depth + 3)

    def _read_pairs(self, pairs: Sequence[tuple[object, object]], depth: int) -> dict[object, object]:
        out: dict[object, object] = {}
        for key, item in pairs:
            try:
                out[self._key.read(key, depth)] = self._item.read(item, depth)
            except SchemaError as error:
                error.under(key_path(key))
                raise
            except TypeError:
                raise not_decodable("a key of a dict must be hashable") from None
        if len(out) != len(pairs):
            raise not_decodable("two keys of a dict are equal")
        return out

    @override
    def takes(self, value: object) -> bool:
        return type(value) is dict

    @override
    def knows(self, tree: object) -> bool:
        return is_object(tree) or tag_of(tree) == "map"

    @override
    def parts(self) -> Iterable[Codec]:
        return (self._key, self._item)


def _pair(tree: Json) -> tuple[Json, Json]:
    if type(tree) is not list or len(tree) != 2:
        raise not_decodable("a map is made of pairs")
    return tree[0], tree[1]


class Anything(Codec):
    """Values without a declared type: the builtin kinds, written by exact type and read by tag."""

    type_name = "any"

    def __init__(self) -> None:
        self._by_type: dict[type[object], Codec] = {}
        self._by_tag: dict[str, Codec] = {}

    def learn(self, kind: type[object], tag: str | None, codec: Codec) -> None:
        """Add a builtin kind; called while this module is loaded and never later."""
        self._by_type[kind] = codec
        if tag is not None:
            self._by_tag[tag] = codec

    @override
    def write(self, value: object, depth: int) -> Json:
        codec = self._by_type.get(type(value))
        if codec is None:
            raise why_not(value)
        return codec.write(value, depth)

    @override
    def read(self, tree: object, depth: int) -> object:
        tag = tag_of(tree)
        codec = self._by_type.get(type(tree)) if tag is None else self._by_tag.get(tag)
        if codec is None:
            raise not_decodable(_UNREADABLE.get(tag or "", f"{shape(tree)} cannot be read without a declared type"))
        return codec.read(tree, depth)

    @override
    def takes(self, value: object) -> bool:
        return type(value) in self._by_type

    @override
    def knows(self, tree: object) -> bool:
        tag = tag_of(tree)
        return type(tree) in self._by_type if tag is None else tag in self._by_tag


_UNREADABLE = {
    "blob": "the contents of a blob were not filled in",
    "opaque": "the value could not be stored; only its description was kept",
}

ANY = Anything()
ANY_LIST = ListOf(ANY, "list")
ANY_TUPLE = TupleOf(ANY, "tuple")
ANY_SET = SetOf(ANY, frozen=False, type_name="set")
ANY_FROZENSET = SetOf(ANY, frozen=True, type_name="frozenset")
ANY_DICT = DictOf(ANY, ANY, "dict")
SCALAR_CODECS: dict[type[object], Codec] = {
    kind.type: FLOATING if kind.type is float else Scalar(kind) for kind in SCALARS
}
ANY_PATH = Scalar(PATH)

for _kind, _tag, _codec in (
    (type(None), None, NULL), (bool, None, BOOL), (str, None, TEXT), (int, "int", FLOATING),
    (list, None, ANY_LIST), (dict, "map", ANY_DICT), (tuple, "tuple", ANY_TUPLE), (set, "set", ANY_SET),
    (frozenset, "frozenset", ANY_FROZENSET), (PATH.type, "path", ANY_PATH), (SecretRef, "secret", SECRET),
    *((kind.type, kind.tag, SCALAR_CODECS[kind.type]) for kind in SCALARS),
):  # fmt: skip
    ANY.learn(_kind, _tag, _codec)


def sequence_of(item: Codec, type_name: str) -> Codec:
    """Make the codec of `Sequence[T]`: a list or a tuple, each coming back as what it was."""
    return Union((ListOf(item), TupleOf(item))).renamed(type_name)


def set_like(item: Codec, type_name: str) -> Codec:
    """Make the codec of `collections.abc.Set[T]`: a set or a frozenset."""
    return Union((SetOf(item, frozen=False), SetOf(item, frozen=True))).renamed(type_name)
