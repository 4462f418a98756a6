"""Sample values of declared types: what conditions are tried on before they meet a real call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from typing import Any, Final, cast

from interlock.canonical import Json
from interlock.domain.tool import ToolSpec
from interlock.policy.values import to_value, whole
from interlock.schema.definitions import Definitions
from interlock.schema.tags import TAG

_DEEPEST: Final = 5
_MOST_VALUES: Final = 12
_MOST_TRIALS: Final = 300

_SCALARS: Final[Mapping[str, tuple[object, ...]]] = {
    "none": (None,),
    "bool": (True, False),
    "str": ("a", "", "someone@example.com"),
    "int": (1, 0, -1, 1_000_000),
    "float": (1.5, 0.0, -1.5, 1e9),
    "decimal": (1.5, 0.0, -1.5, 1e9),
    "datetime": (datetime(2026, 3, 1, 9, tzinfo=UTC), datetime(1999, 12, 31, tzinfo=UTC)),
    "date": ("2026-03-01",),
    "time": ("09:00:00",),
    "timedelta": (timedelta(hours=1), timedelta(0)),
    "bytes": (b"a", b""),
    "uuid": ("00000000-0000-4000-8000-000000000000",),
    "path": ("/tmp/a", "a"),  # noqa: S108 - a sample, nobody opens it
    "windows_path": ("a",),
    "secret": ("env://NAME",),
    "any": ("a", 1, 1.5, True, None),
}
_KINDS: Final[Mapping[str, str]] = {
    "none": "null", "bool": "bool", "str": "string", "int": "number", "float": "number", "decimal": "number",
    "datetime": "timestamp", "date": "string", "time": "string", "timedelta": "duration", "bytes": "bytes",
    "uuid": "string", "path": "string", "windows_path": "string", "secret": "string", "enum": "string",
    "list": "list", "tuple": "list", "tuple_of": "list", "set": "list", "frozenset": "list", "dict": "map",
    "record": "map", "model": "map",
}  # fmt: skip
_JSON_TYPES: Final[Mapping[str, Json]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "none",
    "array": {"list": "any"},
    "object": {"dict": ["str", "any"]},
}


def shapes_of(spec: ToolSpec) -> Mapping[str, Json] | None:
    """The shapes of a tool's arguments by name (see `schema.shapes`); None where nothing is known of them."""
    known = spec.shape.get("arguments")
    if isinstance(known, Mapping):
        return cast("Mapping[str, Json]", known)
    properties = spec.schema.get("properties")
    if not isinstance(properties, Mapping):
        return None
    return {name: _json_shape(each) for name, each in cast("Mapping[str, Any]", properties).items()}


def _json_shape(schema: Any) -> Json:
    kind = cast("Mapping[str, object]", schema).get("type") if isinstance(schema, Mapping) else None
    if isinstance(kind, list):
        return {"union": [_JSON_TYPES.get(str(each), "any") for each in cast("list[object]", kind)]}
    return _JSON_TYPES.get(str(kind), "any")


class Shaped:
    """One argument: what is known of its type, and values of it."""

    def __init__(self, shape: Json, literals: Sequence[object] = ()) -> None:
        self._definitions = Definitions(shape)
        self._shape = self._definitions.root
        self._literals = literals

    def kinds(self, path: Sequence[str] = ()) -> frozenset[str]:
        """The kinds of values that may stand at a path; `any` where that is not known."""
        return frozenset(kind for shape in self._at(path) for kind in self._kinds(shape))

    def fields(self, path: Sequence[str]) -> frozenset[str] | None:
        """The names of the fields at a path; None where every name may stand."""
        names: set[str] = set()
        for shape in self._at(path):
            kind, inner = self._definitions.kind(shape)
            if kind in ("any", "dict") or (kind == "model" and len(inner) > 2 and inner[2].get("extra")):
                return None
            names |= set(_fields(kind, inner))
        return frozenset(names)

    @property
    def certain(self) -> bool:
        """Whether every value of it has a type that is known."""
        return "any" not in self._deep(self._shape, 0)

    def values(self) -> list[object]:
        """Values of the type, those that the literals of the condition suggest among them."""
        return _distinct(self._values(self._shape, 0))

    def _at(self, path: Sequence[str]) -> list[Json]:
        """The shapes that may stand at a path, unions taken apart."""
        shapes = self._members(self._shape)
        for name in path:
            inside: list[Json] = []
            for shape in shapes:
                kind, inner = self._definitions.kind(shape)
                found = "any" if kind == "any" else inner[1] if kind == "dict" else _fields(kind, inner).get(name)
                inside += [] if found is None else self._members(found)
            shapes = inside
        return shapes

    def _members(self, shape: Json) -> list[Json]:
        kind, inner = self._definitions.kind(shape)
        return [each for member in inner for each in self._members(member)] if kind == "union" else [shape]

    def _kinds(self, shape: Json) -> Iterator[str]:
        kind, inner = self._definitions.kind(shape)
        if kind == "literal":
            yield from (kind_of(each) for each in _literals(inner))
        else:
            yield _KINDS.get(kind, "any")

    def _deep(self, shape: Json, depth: int) -> set[str]:
        """The kinds of a shape and of everything inside it."""
        if depth > _DEEPEST:
            return set()
        kind, inner = self._definitions.kind(shape)
        parts: Iterable[Json] = ()
        if kind in ("list", "tuple_of", "set", "frozenset"):
            parts = [inner]
        elif kind in ("tuple", "union", "dict"):
            parts = inner
        elif kind in ("record", "model"):
            parts = _fields(kind, inner).values()
        return {kind}.union(*(self._deep(part, depth + 1) for part in parts))

    def _values(self, shape: Json, depth: int) -> list[object]:
        if depth > _DEEPEST:
            return []
        kind, inner = self._definitions.kind(shape)
        if kind in _SCALARS:
            return [*_SCALARS[kind], *_suggested(_KINDS.get(kind, ""), kind, self._literals)]
        if kind == "enum":
            return [member[1] for member in inner[1]]
        if kind == "literal":
            return _literals(inner)
        if kind == "union":
            members = [self._values(member, depth) for member in inner]
            return [each for values in members for each in values]
        if kind in ("record", "model"):
            return self._maps(_fields(kind, inner), depth)
        if kind == "dict":
            items, keys = self._values(inner[1], depth + 1), _suggested("string", "str", self._literals)
            return [{}, *({key: item} for key in ["a", *keys] for item in items[:3])]
        if kind == "tuple":
            columns = [self._values(part, depth + 1) or [None] for part in inner]
            return [[column[min(row, len(column) - 1)] for column in columns] for row in range(2)]
        items = self._values(inner, depth + 1)
        return [[], *([each] for each in items), items[:3] * 2]

    def _maps(self, fields: Mapping[str, Json], depth: int) -> list[object]:
        """A map with the first value of each field, and one for each other value of each field."""
        columns = {name: self._values(shape, depth + 1) or [None] for name, shape in fields.items()}
        first = {name: column[0] for name, column in columns.items()}
        return [first, *({**first, name: each} for name, column in columns.items() for each in column[1:])]


def _fields(kind: str, inner: Any) -> Mapping[str, Json]:
    if kind not in ("record", "model"):
        return {}
    fields: dict[str, list[Json]] = inner if kind == "record" else inner[1]
    return {name: part[0] for name, part in fields.items()}


def _literals(inner: Any) -> list[object]:
    return [to_value({TAG: each[0], "v": each[1]}) if type(each) is list else each for each in inner]


def _suggested(kind: str, word: str, literals: Sequence[object]) -> list[object]:
    """What the literals of a condition suggest for a kind: those of it, and their neighbours."""
    found: list[object] = []
    for literal in literals:
        if kind == "number" and isinstance(literal, int | float) and not isinstance(literal, bool):
            near = (literal, literal + 1, literal - 1)
            found += [whole(int(each)) if word == "int" else float(each) for each in near]
        elif kind == "string" and word == "str" and isinstance(literal, str):
            found += [literal, f"x{literal}"]
    return found[:_MOST_VALUES]


def kind_of(value: object) -> str:
    """The kind of a literal's value."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "bool"
    return "number" if isinstance(value, int | float) else "bytes" if isinstance(value, bytes) else "string"


def _distinct(values: Sequence[object]) -> list[object]:
    kept = {repr(value): value for value in values}
    return list(kept.values())


def combinations(columns: Mapping[str, Sequence[object]]) -> Iterator[dict[str, object]]:
    """Choices of one value from each column: all if these are few, else each value once and many mixtures."""
    names = list(columns)
    total = 1
    for column in columns.values():
        total *= len(column)
    if total <= _MOST_TRIALS:
        for row in product(*columns.values()):
            yield dict(zip(names, row, strict=True))
        return
    longest = max(len(column) for column in columns.values())
    strides = [1 + 2 * index for index in range(len(names))]
    for turn in range(min(longest * 16, _MOST_TRIALS)):
        yield {
            name: column[(turn * stride + turn // longest * index) % len(column)]
            for index, (stride, (name, column)) in enumerate(zip(strides, columns.items(), strict=True))
        }
    first = {name: column[0] for name, column in columns.items()}
    for name in names:
        for value in islice(columns[name], _MOST_VALUES):
            yield {**first, name: value}
