"""What a person writes in plain JSON: encoded by a shape, exactly or not at all, without the tool's code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Literal, NamedTuple, NotRequired
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field
from pydantic import dataclasses as pydantic_dataclasses
from typing_extensions import TypeAliasType, TypedDict

from interlock.domain.tool import ToolSpec
from interlock.kernel.documents import tool_document, tool_spec
from interlock.schema import (
    Codec,
    Json,
    Parameters,
    SchemaError,
    SecretRef,
    codec_for,
    plain_to_tree,
    revise,
    shape_of,
    spill,
    tree_to_plain,
)


class Color(Enum):
    RED = "red"
    GREEN = "green"
    ROUGE = "red"  # noqa: PIE796 - an alias is meant


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Mood(StrEnum):
    GLAD = "glad"


class Odd(Enum):
    PRICE = Decimal("1.50")
    PAIR = (1, "x")
    BYTES = b"ab"
    TABLE = {"a": 1}  # noqa: RUF012 - an enum member, and one that nobody could write


class Thing(Enum):
    ONE = object()


class Crossed(Enum):
    A = "B"
    B = "A"


class Right(Flag):
    NONE = 0
    READ = 1
    WRITE = 2
    BOTH = 3


class Point(NamedTuple):
    x: int
    label: str = "here"


@dataclass
class Line:
    item: str
    price: Decimal
    tags: list[str] = field(default_factory=list)
    made: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)


@dataclass
class Left:
    x: int


@dataclass
class Twin:
    x: int


class Keys(TypedDict):
    a: int
    b: NotRequired[date]


class Patch(BaseModel):
    title: str | None = None
    amount: Annotated[Decimal, Field(ge=0)] = Decimal(0)
    due: date | None = None
    key: Annotated[int, Field(alias="theKey", ge=1)] = 1
    other: Annotated[int, Field(validation_alias=AliasChoices(AliasPath("deep", "x"), "otherKey"))] = 1


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


@pydantic_dataclasses.dataclass
class Checked:
    n: Annotated[int, Field(le=5)]


Nested = TypeAliasType("Nested", "list[Nested] | int")

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
offsets = st.integers(-1400, 1400).map(lambda m: timezone(timedelta(minutes=m)))
zones = st.sampled_from(["Europe/Berlin", "Asia/Kathmandu"]).map(ZoneInfo)
moments = st.builds(lambda when, zone: when.replace(tzinfo=zone), st.datetimes(), st.none() | zones | offsets)
floats = st.floats(allow_nan=False, allow_infinity=False)
decimals = st.decimals(allow_nan=False, allow_infinity=False)
lines = st.builds(Line, text, decimals, st.lists(text, max_size=2), moments)
trees_of_trees = st.recursive(
    st.builds(Tree, text), lambda inner: st.builds(Tree, text, st.lists(inner, max_size=2)), max_leaves=4
)
natural = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text | st.just("$t"), inner, max_size=3),
    max_leaves=8,
)

KINDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, text),
    (int, st.integers()),
    (float, floats),
    (bool, st.booleans()),
    (None, st.none()),
    (Decimal, decimals),
    (datetime, moments),
    (date, st.dates()),
    (time, st.times()),
    (timedelta, st.timedeltas()),
    (bytes, st.binary(max_size=8)),
    (UUID, st.uuids()),
    (Path, st.just(Path("a/b")) | st.just(Path())),
    (PurePosixPath, st.just(PurePosixPath("/x y"))),
    (PureWindowsPath, st.just(PureWindowsPath("C:/x/y"))),
    (Any, natural),
    (list, st.lists(natural, max_size=3)),
    (list[datetime], st.lists(moments, max_size=3)),
    (tuple[int, str], st.tuples(st.integers(), text)),
    (tuple[()], st.just(())),
    (tuple[bytes, ...], st.lists(st.binary(max_size=4), max_size=3).map(tuple)),
    (set[Decimal], st.sets(decimals, max_size=3)),
    (frozenset[frozenset[int]], st.frozensets(st.frozensets(st.integers(), max_size=3), max_size=3)),
    (dict[str, int], st.dictionaries(text | st.just("$t"), st.integers(), max_size=3)),
    (dict[date, list[time]], st.dictionaries(st.dates(), st.lists(st.times(), max_size=2), max_size=3)),
    (dict[tuple[int, str], bool], st.dictionaries(st.tuples(st.integers(), text), st.booleans(), max_size=3)),
    (dict[int | str, float], st.dictionaries(st.integers() | text, floats, max_size=3)),
    (Mapping[Color, Line], st.dictionaries(st.sampled_from(Color), lines, max_size=2)),
    (Color, st.sampled_from(Color)),
    (Size, st.sampled_from(Size)),
    (Mood, st.sampled_from(Mood)),
    (Odd, st.sampled_from(Odd)),
    (Thing, st.just(Thing.ONE)),
    (Right, st.sampled_from([Right.NONE, Right.READ, Right.BOTH])),
    (Literal[1, "1", True, None, Color.GREEN, b"ab"], st.sampled_from([1, "1", True, None, Color.GREEN, b"ab"])),
    (int | None, st.none() | st.integers()),
    (int | str | bool, st.integers() | text | st.booleans()),
    (int | float, st.integers() | floats),
    (datetime | date, moments | st.dates()),
    (Decimal | list[Decimal] | None, st.none() | decimals | st.lists(decimals, max_size=2)),
    (Line, lines),
    (list[Line | Point], st.lists(lines | st.builds(Point, st.integers(), text), max_size=3)),
    (Point, st.builds(Point, st.integers(), text)),
    (Tree, trees_of_trees),
    (Nested, st.recursive(st.integers(), lambda inner: st.lists(inner, max_size=3), max_leaves=5)),
    (Keys, st.fixed_dictionaries({"a": st.integers()}, optional={"b": st.dates()})),
    (Open, st.builds(lambda a, extra: Open.model_validate({"a": a, "more": extra}), st.integers(), natural)),
    (Checked, st.builds(Checked, st.integers(0, 5))),
]


NAMES = [f"{index}-{str(annotation)[:40]}" for index, (annotation, _) in enumerate(KINDS)]

# Texts that are, or nearly are, of the kinds above.
WORDS = (
    *(
        "1",
        "-0",
        "1.50",
        "1e3",
        "true",
        "a",
        "x",
        "$t",
        "RED",
        "red",
        "READ|WRITE",
        "P1D",
        "PT0S",
        "a//b",
        "a/b",
        "YWI",
    ),
    *("2026-01-02", "2026-01-02T10:00:00Z", "10:00", "YWI=", "{00000000-0000-0000-0000-000000000000}"),
)


SECRET = 'it: expected a reference to a secret, {"$t": "secret", "v": ["env://NAME"]}'


def written(annotation: object, value: object, before: Json = ...) -> Json:  # type: ignore[assignment]
    shape = shape_of(codec_for(annotation))
    if before is ...:
        return plain_to_tree(shape, value, "it")
    return plain_to_tree(shape, value, "it", before)


def read(annotation: object, value: object) -> object:
    """Encode what a person wrote, and decode it where the code is."""
    return codec_for(annotation).decode(written(annotation, value))


def refusal(annotation: object, value: object) -> str:
    with pytest.raises(SchemaError) as caught:
        written(annotation, value)
    assert caught.value.code == "arguments_invalid"
    assert "\n" not in str(caught.value)
    return str(caught.value)


def through_json(value: object) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


# -- there and back ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("annotation", "strategy"), KINDS, ids=NAMES)
def test_what_is_shown_of_a_value_encodes_to_that_value(annotation: object, strategy: st.SearchStrategy[Any]) -> None:
    codec = codec_for(annotation)
    shape = through_json(shape_of(codec))

    @settings(max_examples=30)
    @given(strategy)
    def comes_back(value: object) -> None:
        tree = codec.encode(value)
        plain = through_json(tree_to_plain(tree))
        assert plain_to_tree(shape, plain, "it") == tree
        assert plain_to_tree(shape, plain, "it", tree) == tree

    comes_back()


@pytest.mark.parametrize("annotation", [each for each, _ in KINDS], ids=NAMES)
def test_whatever_is_accepted_can_be_decoded_and_is_encoded_in_the_one_form(annotation: object) -> None:
    codec = codec_for(annotation)
    shape = shape_of(codec)
    words = st.sampled_from(WORDS)
    tags = st.sampled_from(
        ["int", "float", "decimal", "date", "enum", "tuple", "set", "map", "model", "secret", "blob"]
    )
    values = st.recursive(
        natural | words,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(words, inner, max_size=3),
            st.fixed_dictionaries({"$t": tags, "v": inner}),
        ),
        max_leaves=6,
    )

    @settings(max_examples=25)
    @given(values)
    def holds(value: object) -> None:
        try:
            tree = plain_to_tree(shape, value, "it")
        except SchemaError as error:
            refused = error
        else:
            assert codec.encode(codec.decode(tree)) == tree
            return
        assert refused.code == "arguments_invalid"
        assert refused.path.startswith("it")

    holds()


@given(st.recursive(
    st.one_of(natural, moments, decimals, st.binary(max_size=4), st.dates(), text.map(SecretRef)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(text | st.integers() | st.dates(), inner, max_size=3),
        st.sets(st.dates() | st.integers(), max_size=3),
    ),
    max_leaves=6,
))  # fmt: skip
def test_an_undeclared_value_that_was_not_changed_keeps_every_type(value: object) -> None:
    tree = codec_for(Any).encode(value)
    assert plain_to_tree("any", through_json(tree_to_plain(tree)), "it", tree) == tree


def test_a_shape_survives_the_tool_document_with_all_its_kinds() -> None:
    class Big(Enum):
        HUGE = 2**60
        HALF = 0.5

    annotations = [*(annotation for annotation, _ in KINDS), Big, Literal[2**60], Patch, SecretRef]
    shapes = {str(index): shape_of(codec_for(annotation)) for index, annotation in enumerate(annotations)}
    spec = ToolSpec(name="t", shape={"arguments": shapes})
    document = json.loads(tool_document(spec)[1])
    document["schema"] = {}
    assert tool_spec(document).shape == {"arguments": shapes}


def test_a_type_that_is_nested_deeply_has_a_shape_that_is_not() -> None:
    annotation: Any = int
    for _ in range(20):
        annotation = dict[str, annotation]

    def depth(node: object) -> int:
        inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return 1 + max(map(depth, inside)) if inside else 0

    shape = shape_of(codec_for(annotation))
    assert depth(shape) < 20
    value: Any = 1
    for _ in range(20):
        value = {"k": value}
    assert plain_to_tree(shape, value, "it") == value


def test_shapes_are_small() -> None:
    assert shape_of(codec_for(list[dict[str, int | None]])) == {"list": {"dict": ["str", {"union": ["int", "none"]}]}}
    assert shape_of(codec_for(Tree)) == {
        "defs": {
            "Tree": {"model": ["Tree", {"name": ["str", True], "children": [{"list": {"ref": "Tree"}}, False, "[]"]}]}
        },
        "is": {"ref": "Tree"},
    }
    assert shape_of(codec_for(Color)) == {
        "defs": {
            "Color": {"enum": ["Color", [["RED", "RED", "red"], ["GREEN", "GREEN", "green"], ["ROUGE", "RED", "red"]]]}
        },
        "is": {"ref": "Color"},
    }


def test_two_classes_of_one_name_have_two_definitions() -> None:
    def make(kind: Any) -> Any:
        return make_dataclass("Same", [("x", kind)])

    one, two = make(int), make(str)
    shape = shape_of(codec_for(tuple[one, two]))
    assert isinstance(shape, dict)
    assert len(shape["defs"]) == 2  # type: ignore[arg-type]
    assert plain_to_tree(shape, [{"x": 1}, {"x": "a"}], "it")
    with pytest.raises(SchemaError, match=r"it\[1\].x: expected str, found an integer"):
        plain_to_tree(shape, [{"x": 1}, {"x": 2}], "it")


# -- one kind at a time --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "plain", "value"),
    [
        (int, "12", 12),
        (int, "-9007199254740993", -9007199254740993),
        (int, {"$t": "int", "v": "9007199254740993"}, 9007199254740993),
        (float, 5, 5.0),
        (float, {"$t": "float", "v": "5.0"}, 5.0),
        (Decimal, 5, Decimal(5)),
        (Decimal, 0.1, Decimal("0.1")),
        (Decimal, "0.10", Decimal("0.10")),
        (Decimal, {"$t": "decimal", "v": "0.10"}, Decimal("0.10")),
        (datetime, "2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (datetime, "2026-01-02 03:04", datetime(2026, 1, 2, 3, 4)),  # noqa: DTZ001 - naive is what is meant
        (time, "10:30", time(10, 30)),
        (timedelta, "PT36H", timedelta(days=1, hours=12)),
        (bytes, "YWI=", b"ab"),
        (UUID, "00000000000000000000000000000001", UUID(int=1)),
        (PurePosixPath, "a//b", PurePosixPath("a/b")),
        (PureWindowsPath, "a/b", PureWindowsPath("a/b")),
        (Color, "RED", Color.RED),
        (Color, "green", Color.GREEN),
        (Color, "ROUGE", Color.RED),
        (Color, {"$t": "enum", "v": ["Color", "RED"]}, Color.RED),
        (Size, 2, Size.LARGE),
        (Odd, "1.50", Odd.PRICE),
        (Odd, [1, "x"], Odd.PAIR),
        (Odd, "ab", Odd.BYTES),
        (Right, "WRITE|READ", Right.BOTH),
        (Right, "BOTH", Right.BOTH),
        (Right, 3, Right.BOTH),
        (Right, "", Right.NONE),
        (Literal[Color.RED, 3], "red", Color.RED),
        (Literal[Color.RED, 3], "RED", Color.RED),
        (tuple[int, str], {"$t": "tuple", "v": [1, "a"]}, (1, "a")),
        (set[int], [3, 1, 2], {1, 2, 3}),
        (frozenset[str], {"$t": "frozenset", "v": ["b", "a"]}, frozenset("ab")),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (dict[int, str], [[1, "a"]], {1: "a"}),
        (dict[int, str], {"$t": "map", "v": [[1, "a"]]}, {1: "a"}),
        (dict[bool, int], {"true": 1}, {True: 1}),
        (dict[float, int], {"0.5": 1}, {0.5: 1}),
        (dict[str, Any], {"$t": "date", "v": 1}, {"$t": "date", "v": 1}),
        (Any, {"$t": "date", "v": "2026-01-02"}, {"$t": "date", "v": "2026-01-02"}),
        (str | date, "2026-01-02", "2026-01-02"),
        (str | date, {"$t": "date", "v": "2026-01-02"}, date(2026, 1, 2)),
        (int | Decimal, 5, 5),
        (float | Decimal, 5.5, 5.5),
        (float | Decimal, "5.5", Decimal("5.5")),
        (datetime | date, "2026-01-02", date(2026, 1, 2)),
        (Left | Twin, {"$t": "model", "v": ["Twin", {"x": 1}]}, Twin(1)),
        (Sequence[int], {"$t": "tuple", "v": [1]}, (1,)),
        (Point, {"x": 1}, Point(1)),
        (Keys, {"a": 1}, {"a": 1}),
        (SecretRef, {"$t": "secret", "v": ["env://A"]}, SecretRef("env://A")),
        (list[Line | None], [None], [None]),
    ],
)
def test_each_way_to_write_a_value(annotation: object, plain: object, value: object) -> None:
    got = read(annotation, plain)
    assert (type(got), got) == (type(value), value)
    assert repr(got) == repr(value)


@pytest.mark.parametrize(
    ("annotation", "plain", "words"),
    [
        (int, True, "it: expected int, found true"),
        (int, 1.0, "it: expected int, found a number"),
        (int, "1.0", "it: expected int, found a string"),
        (int, "007", "it: expected int, found a string"),
        (int, None, "it: expected int, found null"),
        (int, {"$t": "float", "v": "1.0"}, "it: expected int, found the tag float"),
        (bool, 1, "it: expected bool, found an integer"),
        (bool, "true", "it: expected bool, found a string"),
        (str, 1, "it: expected str, found an integer"),
        (str, "\ud800", "it: lone surrogate at character 0"),
        (str, {"$t": "blob", "v": ["sha-256:x", 1, "text/plain"]}, "it: expected str, found the tag blob"),
        (float, "5.0", "it: expected float, found a string"),
        (float, True, "it: expected float, found true"),
        (float, 2**53 + 1, "it: an integer that no float equals"),
        (float, 10**400, "it: an integer that no float equals"),
        (float, float("inf"), "it: NaN and infinities are no values"),
        (float, {"$t": "float", "v": "5"}, "it: not a float in its one exact form"),
        (Decimal, "1_000", "it: not a decimal"),
        (Decimal, " 1", "it: not a decimal"),
        (Decimal, "one", "it: not a decimal"),
        (Decimal, "NaN", "it: NaN and infinities are not stored"),
        (Decimal, True, "it: expected Decimal, found true"),
        (date, "2026-02-30", "it: not a date: day is out of range for month"),
        (datetime, 0, "it: expected datetime, found an integer"),
        (timedelta, "1 day", "it: not a timedelta: not a duration in ISO 8601"),
        (bytes, "YW!IY", "it: not bytes in base64url"),
        (UUID, "x", "it: not a uuid: badly formed hexadecimal UUID string"),
        (Color, "BLUE", "it: expected one of RED, GREEN, ROUGE, found a string"),
        (Color, {"$t": "enum", "v": ["Colour", "RED"]}, "it: expected Color, found another enum"),
        (Color, {"$t": "enum", "v": ["Color", "red"]}, "it: expected one of RED, GREEN, ROUGE, found a string"),
        (Right, "READ|RUN", "it: expected one of NONE, READ, WRITE, BOTH, found a string"),
        (Literal["a", 1], "b", "it: expected one of 'a', 1, found a string"),
        (Literal[1], True, "it: expected one of 1, found true"),
        (list[int], {"a": 1}, "it: expected list, found an object"),
        (list[int], [1, "x"], "it[1]: expected int, found a string"),
        (tuple[int, str], [1], "it: expected 2 items, found 1"),
        (tuple[int, ...], 3, "it: expected tuple, found an integer"),
        (set[int], [1, 1], "it: two items of a set are equal"),
        (set[Decimal], ["1.0", "1.00"], "it: two items of a set are equal"),
        (set, [[1]], "it: the items of a set cannot be lists, dicts or sets"),
        (dict[int, str], {"a": "x"}, "it.a: expected int, found a string"),
        (dict[int, str], [[1, "a"], [1, "b"]], "it: two keys of a dict are equal"),
        (dict[int, str], [1], "it: expected an object, or a list of pairs of a key and its value"),
        (dict[str, int], "x", "it: expected dict, found a string"),
        (dict[str, int], {"two words": "x"}, "it['two words']: expected int, found a string"),
        (int | None, "x", "it: expected int, found a string"),
        (int | date, "x", "it: expected int | date, found a string"),
        (Line | int, {"item": 1}, "it.item: expected str, found an integer"),
        (Line, {"item": "a"}, "it.price: is required"),
        (Line, {"item": "a", "price": 1}, "it.made: is required"),
        (Line, {"item": "a", "price": 1, "x": 1}, "it.made: is required"),
        (Line, [], "it: expected Line, found a list"),
        (Point, {"x": 1, "y": 2}, "it.y: Point has no such field"),
        (Point, {"$t": "model", "v": ["Line", {}]}, "it: expected Point, found another model"),
        (Keys, {"b": "2026-01-01"}, "it.a: is required"),
        (Keys, {"a": 1, "c": 1}, "it.c: no such key"),
        (Keys, 1, "it: expected object, found an integer"),
        (SecretRef, {"$t": "secret", "v": [1]}, SECRET),
        (tuple[int, str] | dict[str, int], "x", "it: expected tuple[int, str] | dict[str, int], found a string"),
        (int | list[Color] | tuple[int, ...], "x", "it: expected int | list[Color] | tuple[int, ...], found a string"),
        (int | Literal["a", b"b"] | Keys, "x", "it: expected int | one of 'a', 'b' | Keys, found a string"),
        (dict[str, int], [], "it: expected dict, found a list"),
        (SecretRef, "env://A", SECRET),
        (Any, object(), "it: a value of the type object is no JSON"),
        (Any, [{1: 2}], "it[0][1]: a key is a string"),
        (Any, (1,), "it: a value of the type tuple is no JSON"),
    ],
)  # fmt: skip
def test_each_refusal_names_the_place_and_the_reason(annotation: object, plain: object, words: str) -> None:
    assert refusal(annotation, plain) == words


def test_what_could_be_meant_in_two_ways_is_refused() -> None:
    assert "could be meant in 2 ways" in refusal(Left | Twin, {"x": 1})
    assert "could be meant in 2 ways" in refusal(int | Decimal, "5")
    assert "could be meant in 2 ways" in refusal(Crossed, "A")
    assert "could be meant in 2 ways" in refusal(list[int] | tuple[int, ...], [1])


def test_depth_is_bounded_before_and_after_the_encoding() -> None:
    value: Any = 1
    for _ in range(28):
        value = [value]
    assert written(Any, value) == value
    assert "nested more than 28 levels deep when it is encoded" in refusal(Any, [value])
    for _ in range(10_000):
        value = [value]
    assert "nested more than 32 levels deep" in refusal(Any, value)


def test_a_shape_that_cannot_be_read_is_refused() -> None:
    for shape in ({"ref": "gone"}, {"defs": {"a": {"ref": "a"}}, "is": {"ref": "a"}}, 3, {"list": "int", "set": "int"}):
        with pytest.raises(SchemaError, match="the type that is recorded for it cannot be read"):
            plain_to_tree(shape, 1, "it")  # type: ignore[arg-type]


def test_types_may_also_be_written_in_place() -> None:
    model: Json = {"model": ["M", {"x": ["int", True]}]}
    union: Json = {"union": [model, {"record": {"y": ["int", True]}}, {"enum": ["E", [["A", "A"]]]}]}
    assert plain_to_tree(union, {"x": 1}, "it") == {"$t": "model", "v": ["M", {"x": 1}]}
    with pytest.raises(SchemaError, match=r"it: expected M \| object \| E, found an integer"):
        plain_to_tree(union, 1, "it")


# -- with the value before the edit --------------------------------------------------------------------


def edited(annotation: Any, value: object, change: Callable[[Any], Any]) -> object:
    codec: Codec = codec_for(annotation)
    tree = codec.encode(value)
    return codec.decode(written(annotation, change(through_json(tree_to_plain(tree))), tree))


def test_parts_that_were_not_changed_keep_their_encoding() -> None:
    day = date(2026, 1, 1)
    assert edited(list[str | date], [day, "2026-01-01", "x"], lambda v: [*v[:2], "y"])[:1] == [day]  # type: ignore[index]
    moved = edited(list[Left | Twin], [Left(1), Twin(2)], lambda v: v[1:])
    assert moved == [Twin(2)]
    longer = edited(list[Left | Twin], [Left(1), Twin(2)], lambda v: [v[1], v[0]])
    assert longer == [Twin(2), Left(1)]
    assert edited(dict[Any, Any], {1: day, "a": day}, lambda v: [*v, ["b", 2]]) == {1: day, "a": day, "b": 2}
    assert edited(dict[str, Any], {"a": day, "b": 1}, lambda v: {**v, "b": 2}) == {"a": day, "b": 2}
    assert edited(set[Any], {day, 1}, lambda v: [*v, 2]) == {day, 1, 2}


def test_what_is_changed_stays_of_the_kind_that_it_was_where_it_can() -> None:
    day, later = date(2026, 1, 1), date(2026, 2, 1)
    assert edited(str | date, day, lambda _: "2026-02-01") == later
    assert edited(str | date, "2026-01-01", lambda _: "2026-02-01") == "2026-02-01"
    assert edited(str | date, day, lambda _: "soon") == "soon"
    assert edited(int | float, 5.5, lambda _: 6) == 6.0
    assert type(edited(int | float, 5.5, lambda _: 6)) is float
    assert edited(Left | Twin, Twin(1), lambda _: {"x": 2}) == Twin(2)
    assert edited(Any, day, lambda _: "2026-02-01") == later
    assert edited(Any, day, lambda _: "soon") == "soon"
    assert edited(Any, (day, 1), lambda v: [v[0], 2]) == (day, 2)
    assert edited(Any, {1: day}, lambda _: [[1, "2026-02-01"]]) == {1: later}
    assert edited(Any, {"a": (1,)}, lambda _: {"a": [2]}) == {"a": (2,)}
    assert edited(Any, [day], lambda _: 1) == 1
    assert edited(dict[Any, int], {1: 1, 2: 2}, lambda _: {"1": 3}) == {1: 3}
    assert edited(Any, {"a": 1}, lambda _: []) == []
    assert edited(Any, [1], lambda _: {"a": 1}) == {"a": 1}
    assert edited(Any, {1: 1}, lambda _: [1]) == [1]
    assert (
        edited(Point | Line, Point(1), lambda _: {"item": "a", "price": 1, "made": "2026-01-01T00:00:00"}).item == "a"
    )  # type: ignore[attr-defined]
    assert edited(Literal["a"] | list[int], "a", lambda _: [1]) == [1]
    assert edited(Literal["a"] | list[int], [1], lambda _: "a") == "a"
    assert edited(list[int | str] | list[None], [None], lambda _: [1]) == [1]
    before = codec_for(Left).encode(Left(1))
    assert plain_to_tree(shape_of(codec_for(Twin)), {"x": 2}, "it", before) == codec_for(Twin).encode(Twin(2))


def test_fields_that_were_left_unset_stay_unset_until_they_are_changed() -> None:
    patch = Patch(title="a")
    assert edited(Patch, patch, lambda v: {**v, "title": "b"}) == Patch(title="b")
    changed = edited(Patch, patch, lambda v: {**v, "amount": "2.50"})
    assert isinstance(changed, Patch)
    assert changed.model_fields_set == {"title", "amount"}
    nested = edited(list[Patch], [patch, Patch()], lambda v: [{**v[0], "title": None}, v[1]])
    assert [each.model_fields_set for each in nested] == [{"title"}, set()]  # type: ignore[attr-defined]


def test_a_new_model_has_the_defaults_that_are_always_the_same() -> None:
    made = read(Patch, {"title": "a", "theKey": 3})
    assert isinstance(made, Patch)
    assert (made.key, made.amount, made.model_fields_set) == (3, Decimal(0), {"title", "key"})
    assert read(Tree, {"name": "a"}) == Tree("a")
    assert read(Open, {"a": 1, "b": [0.5]}) == Open.model_validate({"a": 1, "b": [0.5]})
    typed = {"$t": "model", "v": ["Patch", {"title": "a", "amount": "1"}, ["amount"]]}
    assert read(Patch, typed).model_fields_set == {"title"}  # type: ignore[attr-defined]


def test_what_is_not_stored_here_is_described_and_kept() -> None:
    big = {"doc": "x" * 100, "key": SecretRef("env://A"), "n": 1}
    tree, _ = spill(codec_for(Any).encode(big), 50, lambda data: f"sha-256:{len(data)}")
    plain = tree_to_plain(tree)
    assert plain == {"doc": "[100 bytes, text/plain;charset=utf-8, sha-256:100]", "key": "[secret env://A]", "n": 1}
    kept = plain_to_tree({"dict": ["str", "any"]}, {**plain, "n": 2}, "it", tree)  # type: ignore[dict-item]
    assert kept == {**tree, "n": 2}  # type: ignore[dict-item]
    assert tree_to_plain({"$t": "opaque", "v": ["Socket", "<Socket>", "ab"]}) == "[opaque Socket <Socket>]"


# -- revising arguments --------------------------------------------------------------------------------


def pay(
    amount: Annotated[Decimal, Field(gt=0, le=100, decimal_places=2)],
    to: Annotated[str, Field(min_length=2, max_length=8, pattern="^[a-z]+$")],
    when: date | None = None,
    *,
    kind: Literal["a", "b"] = "a",
    color: Color = Color.RED,
    count: Annotated[int, Field(ge=1, multiple_of=5)] = 5,
    ratio: Annotated[float, Field(lt=1)] = 0.5,
    names: Annotated[list[str], Field(max_length=2)] = [],  # noqa: B006 - only read
    patch: Patch | None = None,
    blob: Annotated[bytes, Field(max_length=3)] = b"",
    point: Point | None = None,
    rights: Right = Right.READ,
    table: Annotated[dict[int, Annotated[int, Field(ge=0)]], Field(min_length=1)] = {1: 1},  # noqa: B006 - only read
    secret: SecretRef | None = None,
    odd: Odd = Odd.PRICE,
    docs: Annotated[list[Annotated[str, Field(min_length=1, pattern="^x")]], Field(max_length=2)] = ["x"],  # noqa: B006 - only read
    checked: Checked | None = None,
    shout: Annotated[str, Field(pattern="^[A-Z]+$")] = "HEY",
) -> None: ...


PAY = Parameters.of(pay)
SHAPE: dict[str, object] = {"arguments": PAY.shapes, "result": "none", "types": PAY.types}
CURRENT = PAY.encode(PAY.bind((Decimal("5.00"), "bob"), {"rights": Right.BOTH, "secret": SecretRef("env://A")}))


def revised(**edit: object) -> dict[str, object]:
    new = revise(PAY.json_schema, SHAPE, CURRENT, edit)
    values = PAY.decode(new)
    assert PAY.encode(values) == new
    return {name: values[name] for name in edit}


@pytest.mark.parametrize(
    ("edit", "value"),
    [
        ({"amount": "7.50"}, Decimal("7.50")),
        ({"amount": 100}, Decimal(100)),
        ({"when": "2026-01-02"}, date(2026, 1, 2)),
        ({"kind": "b"}, "b"),
        ({"color": "green"}, Color.GREEN),
        ({"color": "GREEN"}, Color.GREEN),
        ({"count": 10}, 10),
        ({"ratio": 0}, 0.0),
        ({"names": ["a", "b"]}, ["a", "b"]),
        ({"patch": {"title": "x", "key": 2}}, Patch(title="x", theKey=2)),
        ({"blob": "YWJj"}, b"abc"),
        ({"point": {"x": 3}}, Point(3)),
        ({"rights": "READ"}, Right.READ),
        ({"table": {"2": 3}}, {2: 3}),
        ({"secret": {"$t": "secret", "v": ["env://B"]}}, SecretRef("env://B")),
        ({"odd": "PAIR"}, Odd.PAIR),
        ({"odd": "TABLE"}, Odd.TABLE),
        ({"checked": {"n": 5}}, Checked(5)),
    ],
)
def test_an_edit_changes_one_argument_and_keeps_the_others(edit: dict[str, object], value: object) -> None:
    (name,) = edit
    assert revised(**edit) == {name: value}
    new = revise(PAY.json_schema, SHAPE, CURRENT, edit)
    assert {**new, name: None} == {**CURRENT, name: None}


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"amount": 0}, "args.amount: it is less than or equal to the minimum of 0"),
        ({"amount": "100.01"}, "args.amount: it is greater than the maximum of 100"),
        ({"amount": "100.0000000000000000000001"}, "args.amount: it is greater than the maximum of 100"),
        ({"amount": "ten"}, "args.amount: not a decimal"),
        ({"to": "b"}, "args.to: it is shorter than 2 characters"),
        ({"to": "B2"}, 'args.to: it does not match "^[a-z]+$"'),
        ({"when": "tomorrow"}, "args.when: not a date"),
        ({"kind": "c"}, "args.kind: expected one of 'a', 'b', found a string"),
        ({"count": 7}, "args.count: it is not a multiple of 5"),
        ({"count": "ten"}, "args.count: expected int, found a string"),
        ({"ratio": 1.0}, "args.ratio: it is greater than or equal to the maximum of 1"),
        ({"names": ["a", "b", "c"]}, "args.names: it has more than 2 items"),
        ({"patch": {"amount": "-1"}}, "args.patch.amount: it is less than the minimum of 0"),
        ({"patch": {"theKey": 0}}, "args.patch.theKey: it is less than the minimum of 1"),
        ({"patch": {"other": "x"}}, "args.patch.other: expected int, found a string"),
        ({"blob": "YWJjZA"}, "args.blob: it is longer than 3 characters"),
        ({"table": {}}, "args.table: it has less than 1 propert"),
        ({"table": {"1": -1}}, "args.table[1]: it is less than the minimum of 0"),
        ({"checked": {"n": 6}}, "args.checked.n: it is greater than the maximum of 5"),
        ({"amuont": 1}, "args.amuont: no such argument; it takes amount, to, when"),
        ({"two words": 1}, "args['two words']: no such argument; it takes amount, to, when"),
        ({}, "args: nothing is changed"),
        ({"amount": "5.00", "to": "bob", "rights": "BOTH"}, "args: nothing is changed"),
        ({"secret": "[secret env://A]"}, "args: nothing is changed"),
    ],
)
def test_an_edit_that_the_tool_would_not_take_is_refused(edit: dict[str, object], words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        revise(PAY.json_schema, SHAPE, CURRENT, edit)
    assert str(caught.value).startswith(words)
    assert caught.value.code == "arguments_invalid"
    assert "\n" not in str(caught.value)


def test_a_schema_that_knows_decimals_as_text_only_is_asked_about_text_only() -> None:
    for words, bad in (({"type": "string", "pattern": "^[0-9]+$"}, "1.5"), ({"type": "number", "maximum": 9}, "10")):
        schema = {"type": "object", "properties": {"n": words}}
        shape = {"arguments": {"n": "decimal"}}
        current: dict[str, Json] = {"n": {"$t": "decimal", "v": "1"}}
        assert revise(schema, shape, current, {"n": "2"}) == {"n": {"$t": "decimal", "v": "2"}}
        with pytest.raises(SchemaError, match=r"args\.n: it "):
            revise(schema, shape, current, {"n": bad})


def test_arguments_that_the_edit_leaves_alone_are_not_judged_again() -> None:
    stored = {**CURRENT, "shout": "a validator of the tool made this"}
    assert revise(PAY.json_schema, SHAPE, stored, {"to": "eve"}) == {**stored, "to": "eve"}
    with pytest.raises(SchemaError, match=r"args\.shout: it does not match"):
        revise(PAY.json_schema, SHAPE, stored, {"shout": "quiet"})


def test_a_large_value_inside_a_changed_argument_is_not_judged_without_its_contents() -> None:
    blob: Json = {"$t": "blob", "v": ["sha-256:x", 70000, "text/plain;charset=utf-8"]}
    stored: dict[str, Json] = {**CURRENT, "docs": [blob]}
    shown = tree_to_plain(stored["docs"])
    assert isinstance(shown, list)
    assert revise(PAY.json_schema, SHAPE, stored, {"docs": [*shown, "xy"]})["docs"] == [blob, "xy"]
    with pytest.raises(SchemaError, match=r"args\.docs\[1\]: it does not match"):
        revise(PAY.json_schema, SHAPE, stored, {"docs": [*shown, "y"]})


def test_a_schema_that_cannot_be_used_is_refused_and_nothing_is_fetched() -> None:
    for schema in ({"$ref": "http://127.0.0.1:9/x"}, {"properties": {"to": {"pattern": "("}}}):
        with pytest.raises(SchemaError, match="args: the JSON Schema of the tool cannot be used"):
            revise(schema, SHAPE, CURRENT, {"to": "eve"})


def test_a_tool_without_shapes_cannot_be_edited() -> None:
    with pytest.raises(SchemaError, match=r"args\.to: no such argument; the tool takes none that could be edited"):
        revise({}, {}, CURRENT, {"to": "eve"})


@pytest.mark.parametrize(("annotation", "strategy"), KINDS, ids=NAMES)
def test_the_schema_never_refuses_what_the_tool_itself_would_take(
    annotation: Any, strategy: st.SearchStrategy[Any]
) -> None:
    def tool(it): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - annotated below

    tool.__annotations__["it"] = annotation
    try:
        parameters = Parameters.of(tool)
    except SchemaError:
        assert annotation is Thing, "Pydantic has no JSON Schema for it"
        return

    @settings(max_examples=10)
    @given(strategy, strategy)
    def agrees(old: object, new: object) -> None:
        current, wanted = (parameters.encode(parameters.bind((value,), {})) for value in (old, new))
        edit = {"it": through_json(tree_to_plain(wanted["it"]))}
        if current == wanted:
            return
        try:
            got = revise(parameters.json_schema, {"arguments": parameters.shapes}, current, edit)
        except SchemaError as error:
            # Equal to the old value for a reader of JSON, so it is that value.
            assert error.reason == "nothing is changed", error  # noqa: PT017 - nothing else may be refused
            assert edit == {"it": through_json(tree_to_plain(current["it"]))}
        else:
            parameters.decode(got)

    agrees()
