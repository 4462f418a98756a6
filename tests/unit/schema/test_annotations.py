"""From annotations to codecs: what is supported, under which name, and what is refused at decoration."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Annotated, Any, Final, Literal, NewType, Optional, TypedDict, TypeVar, Union
from uuid import UUID

import pytest
import typing_extensions
from pydantic import AwareDatetime, BaseModel, Field, HttpUrl, JsonValue, SecretStr

from interlock.schema import SchemaError, SecretRef, codec_for, hints, storable_reason
from interlock.schema.compare import same
from interlock.schema.hints import for_pydantic

UserId = NewType("UserId", str)
Bound = TypeVar("Bound", bound=int)
Either = TypeVar("Either", int, str)
Free = TypeVar("Free")
Json = typing_extensions.TypeAliasType("Json", "bool | int | str | list[Json] | dict[str, Json] | None")
Item = TypeVar("Item")
Many = typing_extensions.TypeAliasType("Many", Union[Item, list[Item]], type_params=(Item,))  # noqa: UP007


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Booking:
    room: str


class Model(BaseModel):
    a: int


class Options(TypedDict):
    dry: bool


@pytest.mark.parametrize(
    ("annotation", "value", "name"),
    [
        (int, 1, "int"),
        (None, None, "None"),
        (type(None), None, "None"),
        (Any, [1.5], "any"),
        (object, (1,), "any"),
        (UserId, "u1", "UserId"),
        (list[UserId], ["u1"], "list[UserId]"),
        (Annotated[int, "meta"], 1, "int"),
        (Annotated[int, ["unhashable"]], 1, "int"),
        (Final[int], 1, "int"),
        (Optional[int], None, "int | None"),  # noqa: UP045 - the old spelling is tested too
        (Union[int, str], "a", "int | str"),  # noqa: UP007 - the old spelling is tested too
        (str | int, 1, "str | int"),
        (int | str, 1, "int | str"),
        (date | datetime, datetime(2026, 1, 1, tzinfo=UTC), "date | datetime"),
        (str | Path | None, Path("x"), "str | Path | None"),
        (list[int] | list[str], ["a"], "list[int] | list[str]"),
        (list[int] | list[str], [], "list[int] | list[str]"),
        (tuple[int, int] | tuple[int, str], (1, "a"), "tuple[int, int] | tuple[int, str]"),
        (Booking | Model | Colour, Booking("a"), "Booking | Model | Colour"),
        (Booking | Model | Colour, Model(a=1), "Booking | Model | Colour"),
        (Booking | Model | Colour, Colour.BLUE, "Booking | Model | Colour"),
        (Options | Booking, {"dry": True}, "Options | Booking"),
        (dict[str, int] | Options, {"dry": True}, "dict[str, int] | Options"),
        (int | (AbstractSet[int] | Sequence[str]), frozenset({1}), "int | Set[int] | Sequence[str]"),
        (SecretRef | str, SecretRef("env://X"), "secret | str"),
        (dict[Literal["a"], int] | None, {"a": 1}, "dict[one of 'a', int] | None"),
        (Literal["a", 1, None, Colour.RED, True], True, "one of 'a', 1, None, <Colour.RED: 1>, True"),
        (Literal["a", 1, None, Colour.RED, True], 1, "one of 'a', 1, None, <Colour.RED: 1>, True"),
        (Literal["a", Colour.RED], Colour.RED, "one of 'a', <Colour.RED: 1>"),
        (Literal[b"a"] | Literal[1], b"a", "one of b'a' | one of 1"),
        (Bound, 1, "int"),
        (Either, "a", "int | str"),
        (Free, [b""], "any"),
        (JsonValue, {"a": [1]}, "JSON value"),
        (AwareDatetime, datetime(2026, 1, 1, tzinfo=UTC), "datetime"),
        (Json, {"a": [None, {"b": 1}]}, "Json"),
        (list[Json], [[["x"]]], "list[Json]"),
        (Json | Decimal, Decimal(1), "Json | Decimal"),
        (Json | Decimal, [1], "Json | Decimal"),
        (Many[date], [date(2026, 1, 1)], "Many[datetime.date]"),
        (list[list[Booking]], [[Booking("a")]], "list[list[Booking]]"),
        (list, [1], "list"),
        (tuple, (1,), "tuple"),
        (tuple[()], (), "tuple[()]"),
        (dict, {1: 2}, "dict"),
        (set, {1}, "set"),
        (frozenset, frozenset({1}), "frozenset"),
        (Sequence, (1,), "Sequence"),
        (AbstractSet, {1}, "Set"),
        (Mapping, {}, "dict"),
        ("list[int]", [1], "list[int]"),
        (list["int"], [1], "list[int]"),
    ],
    ids=str,
)
def test_an_annotation_has_a_codec_and_a_name(annotation: object, value: object, name: str) -> None:
    codec = codec_for(annotation)
    assert codec.type_name == name
    assert same(codec.decode(json.loads(json.dumps(codec.encode(value)))), value)
    codec.check(value)
    assert storable_reason(annotation) is None


def test_the_same_annotation_gives_the_same_codec() -> None:
    assert codec_for(list[Booking]) is codec_for(list[Booking])
    assert codec_for(Annotated[int, []]).type_name == "int"


def test_the_cache_is_bounded() -> None:
    for number in range(2100):
        codec_for(Literal[number])  # pyright: ignore[reportInvalidTypeForm] - made in a loop on purpose
    assert codec_for(Literal[1]).encode(1) == 1


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Fraction, "Fraction cannot be stored"),
        (complex, "complex"),
        (range, "range"),
        (deque[int], "deque"),
        (OrderedDict[str, int], "OrderedDict"),
        (bytearray, "bytearray"),
        (Callable[[], int], "Callable"),
        (type[int], "type"),
        (Iterator[int], "stream"),
        (Generator[int, None, None], "stream"),
        (Iterable[int], "stream"),
        (SecretStr, "declare a SecretRef"),
        (HttpUrl, "HttpUrl"),
        (BaseModel, "BaseModel"),
        (Enum, "Enum"),
        (typing_extensions.Self, "Self"),
        (typing_extensions.Never, "Never"),
        (tuple[int, typing_extensions.Unpack[tuple[str, ...]]], "Unpack"),  # noqa: UP044 - both spellings are one
        ("Nowhere", "'Nowhere' is not defined"),
        ("1 +", "cannot be resolved"),
        (3, "cannot be stored"),
        ([1], "cannot be stored"),
    ],
    ids=str,
)
def test_an_annotation_whose_values_cannot_be_stored_is_refused(annotation: object, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        codec_for(dict[str, list[annotation]])  # pyright: ignore[reportInvalidTypeForm] - made of a parameter
    assert caught.value.code == "not_storable"
    assert words in caught.value.reason
    assert words in (storable_reason(annotation) or "")


def test_the_path_of_a_refused_annotation_leads_to_it() -> None:
    @dataclass
    class Inner:
        ok: int
        bad: tuple[int, Fraction]

    with pytest.raises(SchemaError) as caught:
        codec_for(list[Inner], namespace={"Inner": Inner})
    assert caught.value.path == "[].bad[1]"


def test_a_field_whose_annotation_cannot_be_resolved_is_refused() -> None:
    @dataclass
    class Lost:
        a: Nowhere  # pyright: ignore[reportUndefinedVariable] # noqa: F821

    with pytest.raises(SchemaError, match="annotations of Lost cannot be resolved"):
        codec_for(Lost)


def test_two_members_that_read_the_same_name_cannot_be_in_one_union() -> None:
    def another() -> type:
        @dataclass
        class Booking:
            room: int

        return Booking

    twin: Any = another()
    for annotation in (Booking | twin, list[Booking] | list[twin] | int, PurePath | Path):
        with pytest.raises(SchemaError, match="cannot be told apart"):
            codec_for(dict[str, annotation])
    codec_for(Booking | list[Booking])


def test_classes_of_one_name_inside_different_models_are_told_apart_by_the_models() -> None:
    def make(inner_type: type) -> Any:
        @dataclass
        class Item:
            value: inner_type  # pyright: ignore[reportInvalidTypeForm] - made of a parameter

        Item.__annotations__["value"] = inner_type
        outer = dataclass(type(f"Of{inner_type.__name__}", (), {"__annotations__": {"item": Item}}))
        return Item, outer

    (int_item, of_int), (str_item, of_str) = make(int), make(str)
    codec = codec_for(of_int | of_str)
    for value in (of_int(int_item(1)), of_str(str_item("a"))):
        codec.check(value)


@pytest.mark.parametrize(
    ("annotation", "value", "path", "words"),
    [
        (int | str, 1.5, "value", "expected int | str, found float"),
        (int | list[date], [1], "value[0]", "expected date"),
        (list[int] | list[list[date]], [[1]], "value[0][0]", "expected date"),
        (Literal["a"], "b", "value", "expected one of 'a', found str"),
        (Json, 1.5, "value", "found float"),
    ],
)
def test_a_value_of_no_member_is_refused(annotation: object, value: object, path: str, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        codec_for(annotation).encode(value)
    assert caught.value.path == path
    assert words in caught.value.reason


@pytest.mark.parametrize(
    ("annotation", "tree", "words"),
    [
        (int | str, None, "expected int | str, found null"),
        (Booking | Model, {"$t": "model", "v": ["Other", {}]}, "expected Booking | Model"),
        (Booking | Colour, {"$t": "enum", "v": []}, "expected Booking | Colour"),
        (tuple[int] | tuple[int, int], {"$t": "tuple", "v": 1}, "expected tuple"),
        (tuple[int] | int, {"$t": "float", "v": "1.0"}, "expected tuple"),
        (Literal["a"], "b", "expected one of 'a'"),
        (Json, {"$t": "float", "v": "1.0"}, "found the tag float"),
        (SecretRef | Sequence[int] | AbstractSet[int], 1, "found an integer"),
        (Json | Any, {"$t": "model", "v": []}, "found the tag model"),
    ],
)
def test_a_tree_of_no_member_is_refused(annotation: object, tree: object, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        codec_for(annotation).decode(tree)
    assert words in caught.value.reason


def test_a_recursive_model_that_is_not_yet_complete_is_completed_from_the_namespace() -> None:
    class Outer(BaseModel):
        inner: list[Inner]

    class Inner(BaseModel):
        x: int

    with pytest.raises(SchemaError, match="Inner"):
        codec_for(Outer)
    codec_for(Outer, namespace={"Inner": Inner}).check(Outer(inner=[Inner(x=1)]))


def test_the_old_typed_dict_is_rewritten_for_pydantic_and_nothing_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "REWRITES_TYPED_DICTS", True)
    field = Field(ge=1)
    for annotation in (int, list[int], Literal["a"], Annotated[int, field], int | None):
        assert for_pydantic(annotation) is annotation or for_pydantic(annotation) == annotation
    assert for_pydantic(Options | None) != Options | None
    monkeypatch.setattr(hints, "REWRITES_TYPED_DICTS", False)
    assert for_pydantic(Options | None) == Options | None


def test_the_room_imports_neither_pydantic_nor_anything_that_does_input_and_output() -> None:
    unwanted = {"pydantic", "asyncio", "sqlite3", "socket"}
    code = "import sys; old = set(sys.modules); import interlock.schema; print(*(set(sys.modules) - old))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not unwanted & set(done.stdout.split())


def test_a_namespace_is_not_remembered() -> None:
    assert codec_for("X", namespace={"X": int}).type_name == "int"
    assert codec_for("X", namespace={"X": str}).type_name == "str"
    assert codec_for(UUID) is codec_for(UUID)
    assert SimpleNamespace is not None
