from __future__ import annotations

import hashlib
import pickle
import re
import struct
from enum import Enum, IntEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from interlock.canonical import MAX_DEPTH, MAX_INTEGER, CanonicalError, Json, canonical_bytes, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

VECTORS = Path(__file__).parents[2] / "vectors" / "rfc8785" / "testdata"
NAMES = sorted(path.stem for path in (VECTORS / "input").glob("*.json"))

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.text("\ue000\uffff\U00010000ab")
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
trees = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))


def nested(depth: int) -> Json:
    tree: Json = 1
    for level in range(depth):
        tree = [tree] if level % 2 else {"k": tree}
    return tree


def refusal(tree: Any, root: str = "value") -> CanonicalError:
    with pytest.raises(CanonicalError) as caught:
        canonical_bytes(tree, root=root)
    return caught.value


def test_there_are_six_official_vectors() -> None:
    assert len(NAMES) == 6


@pytest.mark.parametrize("name", NAMES)
def test_official_vectors_are_reproduced(name: str) -> None:
    tree = parse((VECTORS / "input" / f"{name}.json").read_bytes())
    hexadecimal = (VECTORS / "outhex" / f"{name}.txt").read_text()
    assert canonical_bytes(tree) == bytes.fromhex(hexadecimal)
    assert canonical_bytes(tree) == (VECTORS / "output" / f"{name}.json").read_bytes()


def official_numbers() -> Iterator[float]:
    """The number sequence that the vectors' README defines, with its static part read from there."""
    static = re.findall(r"0x([0-9a-f]{16})n,", (VECTORS / "README.md").read_text())
    patterns = [int(digits, 16) for digits in static]
    yield from (struct.unpack(">d", struct.pack(">Q", bits))[0] for bits in patterns)
    for serial in range(2000):
        yield struct.unpack(">d", struct.pack(">Q", 0x0010000000000000 + serial))[0]
    block = bytes(32)
    while True:
        block = hashlib.sha256(block).digest()
        for number in struct.unpack("<4d", block):
            if number != 0.0 and abs(number) < float("inf"):
                yield number


def test_ten_thousand_official_numbers_are_written_as_ecmascript_does() -> None:
    hashed = hashlib.sha256()
    for number in islice(official_numbers(), 10_000):
        bits = struct.unpack(">Q", struct.pack(">d", number))[0]
        hashed.update(b"%x,%s\n" % (bits, canonical_bytes(number)))
    assert hashed.hexdigest() == "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892"


@given(trees)
def test_fast_path_equals_the_reference_package(tree: Json) -> None:
    assert canonical_bytes(tree) == rfc8785.dumps(tree)


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1.0, b"1"),
        (-0.0, b"0"),
        (1e21, b"1e+21"),
        (1e20, b"100000000000000000000"),
        (1e-7, b"1e-7"),
    ],
)
def test_floats_that_are_integral_follow_rfc_8785(number: float, written: bytes) -> None:
    assert canonical_bytes([number]) == b"[" + written + b"]"


def test_keys_are_sorted_by_utf_16_unit_and_not_by_code_point() -> None:
    tree: Json = {"\ue000": 1, "\U0001f600": 2}
    assert canonical_bytes(tree) == '{"\U0001f600":2,"\ue000":1}'.encode()
    assert canonical_bytes([{"in": [tree]}]).index(b"2") < canonical_bytes([{"in": [tree]}]).index(b"1")


def test_characters_beyond_the_bmp_in_values_need_no_other_order() -> None:
    assert canonical_bytes({"b": ["\U0001f600"], "a": {"c": 1}}) == ('{"a":{"c":1},"b":["\U0001f600"]}'.encode())


def test_nothing_is_normalised() -> None:
    assert canonical_bytes("e\u0301") != canonical_bytes("\u00e9")


def test_integers_end_where_doubles_are_no_longer_exact() -> None:
    assert canonical_bytes(MAX_INTEGER) == b"9007199254740991"
    assert canonical_bytes(-MAX_INTEGER) == b"-9007199254740991"
    for number in (MAX_INTEGER + 1, -MAX_INTEGER - 1, 2**70):
        error = refusal({"n": [0, number]}, root="args")
        assert error.path == "args.n[1]"
        assert "2^53-1" in error.reason


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    assert str(refusal({"a": number})) == "value.a is not a finite number"


class Colour(str, Enum):  # noqa: UP042  (a str subclass that is also an Enum is the point)
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Text(str):
    __slots__ = ()


class Many(list[int]):
    pass


class Fields(dict[str, int]):
    pass


@pytest.mark.parametrize(
    "foreign",
    [
        Colour.RED,
        Level.LOW,
        Text("a"),
        Many([1]),
        Fields(a=1),
        (1,),
        {1},
        b"a",
        1j,
        object(),
        Path(),
    ],
)
def test_only_exact_json_types_are_taken(foreign: object) -> None:
    for tree, path in ((foreign, "value"), ({"a": [foreign]}, "value.a[0]")):
        error = refusal(tree)
        assert error.path == path
        assert error.reason == f"is of type {type(foreign).__name__}, which JSON does not have"


@pytest.mark.parametrize("key", [1, None, True, 1.5, (1,), Text("a"), Colour.RED])
def test_keys_that_are_not_strings_are_refused(key: object) -> None:
    error = refusal({"a": {key: 1}})
    assert error.path == "value.a"
    assert error.reason == f"has a key of type {type(key).__name__}; keys must be strings"


def test_lone_surrogates_are_refused_in_strings_and_keys() -> None:
    assert str(refusal({"a": ["\u00e9", "x\ud800"]})) == "value.a[1] has a lone surrogate"
    assert str(refusal({"\udc00": 1})) == 'value["\\udc00"] has a lone surrogate in its key'


def test_thirty_two_containers_may_lie_in_each_other_and_no_more() -> None:
    assert MAX_DEPTH == 32
    assert canonical_bytes(nested(32)) == rfc8785.dumps(nested(32))
    assert canonical_bytes([nested(31), 1.5]) == rfc8785.dumps([nested(31), 1.5])
    for tree in (nested(33), nested(34), [1.5, nested(32)]):
        assert "nested more than 32 deep" in refusal(tree).reason


def test_the_path_of_what_is_too_deep_leads_to_it() -> None:
    assert refusal(nested(33)).path == "value" + ".k[0]" * 16
    assert refusal({"k": nested(33)}).path == "value.k" + ".k[0]" * 15 + ".k"


def test_cycles_are_refused_at_once_however_wide() -> None:
    wide: list[Any] = []
    wide.extend([wide] * 50)
    loop: dict[str, Any] = {}
    loop["self"] = loop
    for tree in (wide, loop):
        assert "contains itself" in refusal(tree).reason


def test_the_first_offender_in_document_order_is_named() -> None:
    assert refusal({"z": [1, (), 2**60], "a": float("nan")}).path == "value.z[1]"


def test_odd_and_long_keys_are_shown_escaped_and_short() -> None:
    assert refusal({"a b\u202e": {"": ()}}).path == 'value["a b\\u202e"][""]'
    assert refusal({"k" * 100: ()}).path == 'value["' + "k" * 64 + '..."]'


def test_the_root_of_the_path_is_given_by_the_caller() -> None:
    assert refusal({"items": [0, 1, 2, {"when": ()}]}, root="args").path == "args.items[3].when"


def test_the_error_is_a_value_error_and_survives_pickling() -> None:
    error = CanonicalError("args.a", "is wrong")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, ValueError)
    assert (again.path, again.reason, str(again)) == ("args.a", "is wrong", "args.a is wrong")
