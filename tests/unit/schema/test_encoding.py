"""Builtin kinds: each value survives as it is, or is refused with its path."""

from __future__ import annotations

import io
import json
from collections import OrderedDict, deque
from collections.abc import Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path, PurePath, PurePosixPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.schema import MAX_DEPTH, Codec, Json, SchemaError, SecretRef, codec_for
from interlock.schema.compare import same

ANY = codec_for(Any)

text = st.text(st.characters(exclude_categories=["Cs"]))
zones = st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu"])
offsets = st.builds(timezone, st.integers(-82_800, 82_800).map(lambda s: timedelta(seconds=s)))
tz: st.SearchStrategy[tzinfo | None] = st.none() | zones.map(ZoneInfo) | offsets
folds = st.sampled_from([0, 1])
moments = st.builds(lambda when, zone, fold: when.replace(tzinfo=zone, fold=fold), st.datetimes(), tz, folds)
clocks = st.builds(lambda when, zone, fold: when.replace(tzinfo=zone, fold=fold), st.times(), tz, folds)
scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    text,
    st.integers(),
    st.integers(2**53 - 3, 2**53 + 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    moments,
    clocks,
    st.dates(),
    st.timedeltas(),
    st.binary(),
    st.uuids(),
    text.map(lambda name: Path("/srv") / name.replace("\0", "")),
    text.map(SecretRef),
)
keys = st.one_of(text, st.just("$t"), st.integers(), st.dates(), st.tuples(st.integers(), text), st.booleans())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.sets(scalars, max_size=4),
        st.frozensets(scalars, max_size=4),
    ),
    max_leaves=12,
)


def trip(codec: Codec, value: object) -> object:
    codec.check(value)
    return codec.decode(json.loads(json.dumps(codec.encode(value))))


def depth(tree: Json) -> int:
    if isinstance(tree, dict):
        return 1 + max(map(depth, tree.values()), default=0)
    return 1 + max(map(depth, tree), default=0) if isinstance(tree, list) else 0


def refusal(codec: Codec, value: object, path: str = "args") -> SchemaError:
    with pytest.raises(SchemaError) as caught:
        codec.encode(value, path)
    assert caught.value.code == "not_storable"
    return caught.value


@given(values)
def test_any_nested_value_survives_the_trip_with_its_types(value: object) -> None:
    assert same(trip(ANY, value), value)
    assert depth(ANY.encode(value)) <= MAX_DEPTH


@given(values)
def test_the_encoding_of_a_value_is_one(value: object) -> None:
    assert ANY.encode(trip(ANY, value)) == ANY.encode(value)


@pytest.mark.parametrize(
    ("annotation", "strategy"),
    [
        (str, text),
        (int, st.integers()),
        (float, st.floats(allow_nan=False, allow_infinity=False) | st.integers()),
        (bool, st.booleans()),
        (None, st.none()),
        (datetime, moments),
        (date, st.dates()),
        (time, clocks),
        (timedelta, st.timedeltas()),
        (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
        (UUID, st.uuids()),
        (bytes, st.binary()),
        (Path, st.just(Path("a/b")) | st.just(Path())),
        (PurePosixPath, st.just(PurePosixPath("/x"))),
        (list, st.lists(scalars, max_size=3)),
        (list[datetime], st.lists(moments, max_size=3)),
        (tuple, st.tuples(scalars, scalars)),
        (tuple[()], st.just(())),
        (tuple[int, str], st.tuples(st.integers(), text)),
        (tuple[bytes, ...], st.lists(st.binary(), max_size=3).map(tuple)),
        (set, st.sets(scalars, max_size=3)),
        (set[Decimal], st.sets(st.decimals(allow_nan=False, allow_infinity=False), max_size=3)),
        (frozenset, st.frozensets(scalars, max_size=3)),
        (frozenset[frozenset[int]], st.frozensets(st.frozensets(st.integers(), max_size=3), max_size=3)),
        (dict, st.dictionaries(keys, scalars, max_size=3)),
        (dict[str, int], st.dictionaries(text | st.just("$t"), st.integers(), max_size=3)),
        (dict[date, list[time]], st.dictionaries(st.dates(), st.lists(clocks, max_size=2), max_size=3)),
        (Mapping[int, str], st.dictionaries(st.integers(), text, max_size=3)),
        (MutableMapping[str, Any], st.dictionaries(text, scalars, max_size=3)),
        (Sequence[int], st.lists(st.integers()) | st.lists(st.integers()).map(tuple)),
        (Sequence, st.lists(scalars, max_size=3)),
        (MutableSequence[int], st.lists(st.integers())),
        (AbstractSet[int], st.sets(st.integers()) | st.frozensets(st.integers())),
        (AbstractSet, st.frozensets(st.integers())),
        (MutableSet[int], st.sets(st.integers())),
        (SecretRef, text.map(SecretRef)),
        (object, scalars),
    ],
    ids=str,
)
def test_each_declared_kind_survives_the_trip(annotation: object, strategy: st.SearchStrategy[object]) -> None:
    codec = codec_for(annotation)

    @given(strategy)
    def survives(value: object) -> None:
        assert same(trip(codec, value), value)

    survives()


@pytest.mark.parametrize(
    ("value", "tree"),
    [
        (2**53 - 1, 2**53 - 1),
        (2**53, {"$t": "int", "v": "9007199254740992"}),
        (-(2**80), {"$t": "int", "v": "-1208925819614629174706176"}),
        (1.0, {"$t": "float", "v": "1.0"}),
        (-0.0, {"$t": "float", "v": "-0.0"}),
        (Decimal("0.10"), {"$t": "decimal", "v": "0.10"}),
        (datetime(2026, 6, 1, 10), {"$t": "datetime", "v": "2026-06-01T10:00:00"}),  # noqa: DTZ001 - naive on purpose
        (datetime(2026, 6, 1, 10, tzinfo=UTC), {"$t": "datetime", "v": "2026-06-01T10:00:00+00:00"}),
        (
            datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
            {"$t": "datetime", "v": "2026-10-25T02:30:00+01:00[Europe/Berlin][_fold=1]"},
        ),
        (time(10, tzinfo=ZoneInfo("Europe/Berlin")), {"$t": "time", "v": "10:00:00[Europe/Berlin]"}),
        (timedelta(0), {"$t": "timedelta", "v": "PT0S"}),
        (timedelta(days=1, hours=2, minutes=3, microseconds=4), {"$t": "timedelta", "v": "P1DT2H3M0.000004S"}),
        (timedelta(microseconds=-1), {"$t": "timedelta", "v": "-PT0.000001S"}),
        (timedelta(days=-3), {"$t": "timedelta", "v": "-P3D"}),
        (b"\xff\xef", {"$t": "bytes", "v": "_-8"}),
        (UUID(int=7), {"$t": "uuid", "v": "00000000-0000-0000-0000-000000000007"}),
        (Path("/a/b"), {"$t": "path", "v": "/a/b"}),
        ((1, "a"), {"$t": "tuple", "v": [1, "a"]}),
        ({3, 1, 2}, {"$t": "set", "v": [1, 2, 3]}),
        (frozenset({"b", "a"}), {"$t": "frozenset", "v": ["a", "b"]}),
        ({"a": [None, True]}, {"a": [None, True]}),
        ({2: "b", 1: "a"}, {"$t": "map", "v": [[1, "a"], [2, "b"]]}),
        ({"$t": "float", "v": "1"}, {"$t": "map", "v": [["$t", "float"], ["v", "1"]]}),
        (SecretRef("env://KEY"), {"$t": "secret", "v": ["env://KEY"]}),
    ],
)
def test_the_encoding_is_frozen(value: object, tree: object) -> None:
    assert ANY.encode(value) == tree


@pytest.mark.parametrize("value", [timedelta.min, timedelta.max, datetime.min, datetime.max, bytes(range(256))])  # noqa: DTZ901 - naive on purpose
def test_the_extremes_survive(value: object) -> None:
    assert same(trip(ANY, value), value)


class MyStr(str):
    __slots__ = ()


class MyDatetime(datetime):
    pass


class Colour(Enum):
    RED = 1


class OddZone(tzinfo):
    def utcoffset(self, dt: datetime | None) -> timedelta:
        return timedelta(hours=1)


def generator() -> Any:
    yield 1


def cyclic() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def numpy_scalar() -> object:
    return type("float64", (float,), {"__module__": "numpy"})(1.5)


def zone_without_key() -> ZoneInfo:
    counts = (0, 0, 0, 0, 1, 4)
    data = b"TZif" + bytes(16) + b"".join(n.to_bytes(4, "big") for n in counts) + bytes(6) + b"UTC\0"
    return ZoneInfo.from_file(io.BytesIO(data))


def secret_str() -> object:
    return type("SecretStr", (), {})()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Fraction(1, 3), "Fraction cannot be stored"),
        (1j, "complex cannot be stored"),
        (range(3), "range cannot be stored"),
        (print, "builtin_function_or_method cannot be stored"),
        (generator(), "generator cannot be stored"),
        (object(), "object cannot be stored"),
        (bytearray(b"a"), "bytearray cannot be stored"),
        (deque([1]), "deque cannot be stored"),
        (OrderedDict(a=1), "subclass of dict"),
        (MyStr("a"), "subclass of str"),
        (MyDatetime(2026, 1, 1), "subclass of datetime"),
        (Colour.RED, "enum Colour needs a declared type"),
        (PurePosixPath("a"), "PurePosixPath needs a declared type"),
        (float("nan"), "NaN"),
        (float("-inf"), "NaN and infinities"),
        (Decimal("NaN"), "NaN"),
        (Decimal("-Infinity"), "NaN"),
        ("\ud800", "lone surrogate at character 0"),
        (Path("\udcff"), "lone surrogate"),
        (10**5000, "4300 digits"),
        (numpy_scalar(), "numpy float64"),
        (secret_str(), "stored in clear"),
        (cyclic(), "contains itself"),
        (nested(MAX_DEPTH + 1), "32 levels"),
        (datetime(2026, 1, 1, tzinfo=OddZone()), "OddZone"),
        (time(1, tzinfo=timezone(timedelta(microseconds=1))), "fraction of a second"),
        (datetime(2026, 1, 1, tzinfo=zone_without_key()), "IANA"),
        (SecretRef("\ud800"), "surrogate"),
        (SecretRef(1), "string"),  # pyright: ignore[reportArgumentType] - wrong on purpose
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_stored_is_refused_with_its_path(value: object, words: str) -> None:
    error = refusal(ANY, {"items": [1, 2, 3, {"when": value}]})
    assert error.path.startswith("args.items[3].when")
    assert words in error.reason


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([1, 1j], "args[1]"),
        ((1, 1j), "args[1]"),
        ({1j}, "args{…}"),
        ({"two words": 1j}, "args['two words']"),
        ({7: 1j}, "args[7]"),
        ({1j: 7}, "args[1j]"),
        ({"\ud800": 7}, "args['\\ud800']"),
    ],
)
def test_a_path_names_every_kind_of_place(value: object, path: str) -> None:
    assert refusal(ANY, value).path == path


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (str, 1, "expected str, found int"),
        (str, MyStr("a"), "subclass of str"),
        (bool, 1, "expected bool, found int"),
        (None, 1, "expected None, found int"),
        (int, 1.0, "expected int, found float"),
        (float, "1", "expected float, found str"),
        (datetime, date(2026, 1, 1), "expected datetime, found date"),
        (date, datetime(2026, 1, 1), "expected date, found datetime"),  # noqa: DTZ001 - naive on purpose
        (list[int], (1,), "expected list[int], found tuple"),
        (tuple[int, ...], [1], "expected tuple[int, ...], found list"),
        (tuple[int, str], (1,), "expected tuple[int, str], found tuple"),
        (set[int], frozenset({1}), "expected set[int], found frozenset"),
        (dict[str, int], [1], "expected dict[str, int], found list"),
        (Sequence[int], {1}, "expected Sequence[int], found set"),
        (SecretRef, "env://KEY", "expected secret, found str"),
        (PurePath, "a", "expected PurePath, found str"),
    ],
)
def test_a_value_of_another_type_than_the_declared_is_refused(annotation: object, value: object, words: str) -> None:
    assert words in refusal(codec_for(annotation), value).reason


def test_the_path_leads_into_declared_containers() -> None:
    assert refusal(codec_for(dict[str, tuple[int, list[date]]]), {"a": (1, [1])}).path == "args.a[1][0]"
    assert refusal(codec_for(set[tuple[int, ...]]), {("a",)}).path == "args{…}[0]"


@pytest.mark.parametrize("make", [nested, lambda n: [1.5] * 1 if n == 1 else [nested(n - 1)]])
def test_exactly_32_levels_are_stored(make: Any) -> None:
    assert same(trip(ANY, make(MAX_DEPTH)), make(MAX_DEPTH))


@pytest.mark.parametrize("leaf", [1.5, 2**70, b"", (), set(), {1: 2}, SecretRef("a"), {}])
def test_the_objects_of_tags_count_as_levels(leaf: object) -> None:
    value = leaf
    for _ in range(MAX_DEPTH):
        value = [value]
    assert "32 levels" in refusal(ANY, value).reason


def test_a_moment_from_pydantic_is_an_offset_like_any_other() -> None:
    from pydantic import TypeAdapter

    moment = TypeAdapter(datetime).validate_python("2026-06-01T10:00:00+02:00")
    assert trip(ANY, moment) == moment
    assert ANY.encode(moment) == {"$t": "datetime", "v": "2026-06-01T10:00:00+02:00"}


BAD_TREES: list[tuple[object, str]] = [
    ({"$t": "int", "v": "5"}, "without a tag"),
    ({"$t": "int", "v": "0_9007199254740993"}, "one exact form"),
    ({"$t": "int", "v": 5}, "needs a string"),
    ({"$t": "int", "v": "9" * 5000}, "not a int"),
    ({"$t": "float", "v": "nan"}, "NaN"),
    ({"$t": "float", "v": "1"}, "one exact form"),
    ({"$t": "float", "v": "x"}, "not a float"),
    ({"$t": "decimal", "v": "Infinity"}, "NaN"),
    ({"$t": "decimal", "v": "x"}, "not a decimal"),
    ({"$t": "datetime", "v": "2026-06-01 10:00:00"}, "one exact form"),
    ({"$t": "datetime", "v": "2026-06-01T10:00:00+02:00[Nowhere/Land]"}, "not known here"),
    ({"$t": "datetime", "v": "2026-06-01T10:00:00+02:00[../etc]"}, "not a datetime"),
    ({"$t": "datetime", "v": "2026-06-01T10:00:00+05:00[Europe/Berlin]"}, "another offset now"),
    ({"$t": "datetime", "v": "[x]"}, "not a time"),
    ({"$t": "time", "v": "25:00:00"}, "not a time"),
    ({"$t": "timedelta", "v": "P1Y"}, "not a duration"),
    ({"$t": "timedelta", "v": "PT60S"}, "one exact form"),
    ({"$t": "timedelta", "v": "-PT0S"}, "one exact form"),
    ({"$t": "timedelta", "v": f"P{'9' * 40}D"}, "not a timedelta"),
    ({"$t": "bytes", "v": "_-8="}, "one exact form"),
    ({"$t": "bytes", "v": "a"}, "not a bytes"),
    ({"$t": "bytes", "v": "é"}, "not a bytes"),
    ({"$t": "uuid", "v": "7"}, "not a uuid"),
    ({"$t": "path", "v": "a//b"}, "one exact form"),
    ({"$t": "tuple", "v": "a"}, "needs an array"),
    ({"$t": "tuple", "v": [], "x": 1}, "exactly the keys"),
    ({"$t": "set", "v": [2, 1]}, "sorted"),
    ({"$t": "set", "v": [1, 1]}, "sorted"),
    ({"$t": "set", "v": [[1]]}, "hashable"),
    ({"$t": "set", "v": [1, True]}, "are equal"),
    ({"$t": "map", "v": [["a", 1]]}, "written as an object"),
    ({"$t": "map", "v": []}, "written as an object"),
    ({"$t": "map", "v": [[1]]}, "made of pairs"),
    ({"$t": "map", "v": [1]}, "made of pairs"),
    ({"$t": "map", "v": [[2, 1], [1, 1]]}, "sorted"),
    ({"$t": "map", "v": [[1, 1], [True, 1]]}, "are equal"),
    ({"$t": "map", "v": [[[1], 1]]}, "hashable"),
    ({"$t": "secret", "v": [1]}, "string"),
    ({"$t": "secret", "v": []}, "needs 1 items"),
    ({"$t": "model", "v": ["A", {}]}, "without a declared type"),
    ({"$t": "enum", "v": ["A", "B"]}, "without a declared type"),
    ({"$t": "blob", "v": ["d", 1, "t"]}, "not filled in"),
    ({"$t": "opaque", "v": ["A", "B", "C"]}, "only its description"),
    ({"$t": "nonsense", "v": "1"}, "the tag nonsense"),
    ({"$t": 5}, "expected dict"),
    (2**60, "expected float"),
    (1.5, "which is not part of the encoding"),
    (..., "which is not part of the encoding"),
    (nested(MAX_DEPTH + 1), "32 levels"),
]


@pytest.mark.parametrize(("tree", "words"), BAD_TREES, ids=lambda value: repr(value)[:50])
def test_a_tree_that_no_value_would_make_is_refused(tree: object, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        ANY.decode({"a": [tree]}, "args")
    assert caught.value.code == "not_decodable"
    assert caught.value.path.startswith("args.a[0]")
    assert words in caught.value.reason


@pytest.mark.parametrize(
    ("annotation", "tree", "path", "words"),
    [
        (str, 1, "value", "expected str, found an integer"),
        (bool, "x", "value", "expected bool, found a string"),
        (int, {"$t": "float", "v": "1.0"}, "value", "expected int, found the tag float"),
        (float, [], "value", "expected float, found an array"),
        (datetime, "2026-06-01T10:00:00", "value", "expected the tag datetime, found a string"),
        (list[int], {}, "value", "expected list[int], found an object"),
        (list[int], [1, None], "value[1]", "expected int, found null"),
        (tuple[int, str], {"$t": "tuple", "v": [1]}, "value", "needs 2 items"),
        (tuple[int, str], {"$t": "tuple", "v": [1, True]}, "value[1]", "found a boolean"),
        (dict[str, int], {"a": "b"}, "value.a", "expected int"),
        (dict[str, int], [], "value", "expected dict[str, int]"),
        (Sequence[int], {"$t": "set", "v": []}, "value", "expected Sequence[int], found the tag set"),
    ],
)
def test_a_tree_of_another_type_than_the_declared_is_refused(
    annotation: object, tree: object, path: str, words: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        codec_for(annotation).decode(tree)
    assert (caught.value.path, caught.value.code) == (path, "not_decodable")
    assert words in caught.value.reason


ANY_TAGS = ("int", "float", "decimal", "datetime", "date", "time", "timedelta", "bytes", "uuid", "path")
ANY_TAGS += ("tuple", "set", "frozenset", "map")
json_trees = st.recursive(
    st.none() | st.booleans() | st.integers() | text | st.floats(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(text | st.sampled_from(["$t", "v"]), inner, max_size=3),
        st.fixed_dictionaries(
            {
                "$t": st.sampled_from([*ANY_TAGS, "model", "enum", "secret", "blob", "opaque"]),
                "v": inner | st.lists(st.lists(inner, min_size=2, max_size=2), max_size=2),
            }
        ),
    ),
)


@given(json_trees)
def test_whatever_can_be_read_is_the_encoding_of_what_was_read(tree: object) -> None:
    try:
        value = ANY.decode(tree)
    except SchemaError as error:
        value = error
    assert value.code == "not_decodable" if isinstance(value, SchemaError) else same(ANY.encode(value), tree)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        (Decimal("0.1"), Decimal("0.10")),
        ([1], [True]),
        ([1], [1, 2]),
        ((1,), (1, 2)),
        ({1: "a"}, {True: "a"}),
        ({1: "a"}, {1: "b"}),
        ({1}, {True}),
        ({1}, {2}),
        (time(1), time(1, fold=1)),
        (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC"))),
        (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1)),  # noqa: DTZ001 - naive on purpose
    ],
)
def test_sameness_is_stricter_than_equality(a: object, b: object) -> None:
    assert not same(a, b)
    assert same(a, a)


def test_a_value_that_comes_back_different_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SchemaError) as caught:
        codec_for(float).check_tree(1.0, 1, "args.x")
    assert (caught.value.path, caught.value.code) == ("args.x", "not_storable")


def test_an_error_reads_as_path_and_reason() -> None:
    error = refusal(ANY, [1j])
    assert str(error) == "args[0]: a value of the type complex cannot be stored"
    assert error.args == ("args[0]", error.reason, "not_storable")
    assert str(SchemaError("", "why", "not_storable")) == "why"


def test_a_key_whose_repr_fails_still_has_a_path() -> None:
    class Key:
        def __repr__(self) -> str:
            raise RuntimeError

    assert refusal(ANY, {Key(): 1}).path == "args[<Key>]"
