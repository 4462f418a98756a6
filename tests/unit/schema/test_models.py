"""Dataclasses, Pydantic models, NamedTuples, TypedDicts and enums: field by field, of their own class."""

from __future__ import annotations

import json
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, Flag, FlagBoundary, IntEnum, StrEnum, auto
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, NotRequired, Required, TypedDict, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, PrivateAttr, RootModel
from pydantic.dataclasses import dataclass as pydantic_dataclass

from interlock.schema import Codec, SchemaError, codec_for
from interlock.schema.compare import same

T = TypeVar("T")
WHEN = datetime(2026, 6, 1, 10, tzinfo=UTC)


class Colour(Enum):
    RED = "r"
    CRIMSON = "r"  # noqa: PIE796 - an alias
    BLUE = "b"


class Level(IntEnum):
    LOW = 1


class Size(StrEnum):
    BIG = auto()


class Access(Flag):
    READ = auto()
    WRITE = auto()


@dataclass
class Address:
    street: str
    since: date | None = None


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    homes: list[Address]
    colour: Colour = Colour.RED
    ratio: float = 1.0
    kind: ClassVar[str] = "person"


class Line(NamedTuple):
    item: str
    price: Decimal = Decimal("0.10")

    def total(self) -> Decimal:
        return self.price


class Options(TypedDict):
    dry: bool
    at: NotRequired[datetime]


class Settings(TypedDict, total=False):
    must: Required[int]
    may: str


class Order(BaseModel):
    id: int
    lines: list[Line] = []
    paid: bool = False
    placed: datetime = WHEN


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: int


class Node(BaseModel):
    value: int
    children: list[Node] = []


@dataclass
class Tree:
    left: Tree | None
    leaf: bytes = b""


@dataclass
class Box(Generic[T]):
    content: T
    more: list[T] = field(default_factory=list[Any])


@dataclass
class DateBox(Box[date]):
    label: str = ""


class Page(BaseModel, Generic[T]):
    items: list[T]


class Pair(NamedTuple, Generic[T]):
    a: T
    b: T


class Named(TypedDict, Generic[T]):
    it: T


def trip(codec: Codec, value: object) -> object:
    codec.check(value)
    return codec.decode(json.loads(json.dumps(codec.encode(value))))


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Colour, Colour.BLUE),
        (Colour, Colour.CRIMSON),
        (Level, Level.LOW),
        (Size, Size.BIG),
        (Access, Access.READ),
        (Access, Access.READ | Access.WRITE),
        (Access, Access(0)),
        (dict[Size, int], {Size.BIG: 1}),
        (Address, Address("Road 1", date(2026, 1, 1))),
        (Person, Person("Ana", [Address("Road 1"), Address("Road 2", date(2026, 1, 1))], Colour.BLUE, 2.5)),
        (Person, Person("Ana", [], ratio=1)),
        (Line, Line("pen")),
        (list[Line], [Line("pen", Decimal("1.00"))]),
        (Options, {"dry": True}),
        (Options, {"dry": False, "at": WHEN}),
        (Settings, {"must": 1}),
        (Settings, {"must": 1, "may": "x"}),
        (Order, Order(id=1)),
        (Order, Order(id=2**60, lines=[Line("pen")], paid=True, placed=WHEN)),
        (Loose, Loose(id=1)),
        (Loose, Loose(id=1, note="x", at=WHEN)),  # pyright: ignore[reportCallIssue] - extra fields are what is tested
        (Node, Node(value=1, children=[Node(value=2), Node(value=3, children=[])])),
        (Tree, Tree(Tree(None, b"\0"))),
        (Box[int], Box(1, [2, 3])),
        (Box[Box[date]], Box(Box(date(2026, 1, 1)), [])),
        (DateBox, DateBox(date(2026, 1, 1), [], "x")),
        (Box, Box("anything", [1])),
        (Page[Line], Page[Line](items=[Line("pen")])),
        (Pair[date], Pair(date(2026, 1, 1), date(2026, 1, 2))),
        (Named[date], {"it": date(2026, 1, 1)}),
        (RootModel[list[int]], RootModel[list[int]]([1, 2])),
    ],
    ids=str,
)
def test_a_model_survives_the_trip(annotation: object, value: object) -> None:
    assert same(trip(codec_for(annotation), value), value)


people = st.builds(
    Person,
    st.text("abc"),
    st.lists(st.builds(Address, st.text("abc"), st.none() | st.dates()), max_size=3),
    st.sampled_from(Colour),
    st.floats(allow_nan=False, allow_infinity=False),
)
orders = st.builds(
    Order,
    id=st.integers(),
    lines=st.lists(st.builds(Line, st.text("abc"), st.decimals(allow_nan=False, allow_infinity=False)), max_size=3),
)


@given(st.dictionaries(st.text("abc"), st.tuples(people, st.lists(orders, max_size=2)), max_size=3))
def test_nested_models_survive_the_trip(value: object) -> None:
    codec = codec_for(dict[str, tuple[Person, list[Order]]])
    assert same(trip(codec, value), value)


@pytest.mark.parametrize(
    ("annotation", "value", "tree"),
    [
        (Colour, Colour.CRIMSON, {"$t": "enum", "v": ["Colour", "RED"]}),
        (Access, Access.READ | Access.WRITE, {"$t": "enum", "v": ["Access", "READ|WRITE"]}),
        (
            Address,
            Address("x"),
            {"$t": "model", "v": ["Address", {"street": "x", "since": None}]},
        ),
        (
            Line,
            Line("pen"),
            {"$t": "model", "v": ["Line", {"item": "pen", "price": {"$t": "decimal", "v": "0.10"}}]},
        ),
        (Options, {"dry": True}, {"dry": True}),
        (Loose, Loose(id=1), {"$t": "model", "v": ["Loose", {"id": 1}]}),
        (
            Node,
            Node(value=1),
            {"$t": "model", "v": ["Node", {"value": 1, "children": []}, ["children"]]},
        ),
    ],
)
def test_the_encoding_of_models_is_frozen(annotation: object, value: object, tree: object) -> None:
    assert codec_for(annotation).encode(value) == tree


def test_a_class_made_in_a_function_is_named_without_the_function() -> None:
    @dataclass
    class Local:
        a: int

    assert codec_for(Local).encode(Local(1)) == {"$t": "model", "v": ["Local", {"a": 1}]}


def test_which_fields_were_left_unset_is_part_of_the_value() -> None:
    patch = trip(codec_for(Order), Order(id=1, paid=False))
    assert isinstance(patch, Order)
    assert patch.model_dump(exclude_unset=True) == {"id": 1, "paid": False}


def test_validators_do_not_run_again_over_stored_fields() -> None:
    class Doubling(BaseModel):
        amount: Annotated[int, AfterValidator(lambda n: n * 2)]

    @dataclass
    class Adding:
        amount: int
        label: str = field(init=False)

        def __post_init__(self) -> None:
            self.amount += 1
            self.label = f"{self.amount}"
            self.cache = {self.amount}

    doubled = trip(codec_for(Doubling), Doubling(amount=2))
    assert isinstance(doubled, Doubling)
    assert doubled.amount == 4
    added = trip(codec_for(Adding), Adding(1))
    assert isinstance(added, Adding)
    assert (added.amount, added.label) == (2, "2")
    assert added.cache, "what __post_init__ keeps beside the fields is there"


def test_private_attributes_are_made_anew() -> None:
    class Counter(BaseModel):
        start: int
        _count: int = PrivateAttr(default=0)

        def model_post_init(self, context: object, /) -> None:
            self._count = self.start
            self.start += 1

    counter = trip(codec_for(Counter), Counter(start=5))
    assert isinstance(counter, Counter)
    assert (counter.start, counter._count) == (6, 6)


def test_a_dataclass_with_its_own_constructor_survives() -> None:
    @dataclass(init=False)
    class Odd:
        a: int

        def __init__(self) -> None:
            self.a = 1

        def __post_init__(self) -> None:
            raise AssertionError("not called by this constructor")

    assert same(trip(codec_for(Odd), Odd()), Odd())


def test_dataclasses_of_pydantic_and_plain_named_tuples_survive() -> None:
    @pydantic_dataclass
    class Checked:
        a: int

    point = namedtuple("point", "x y")
    assert trip(codec_for(Checked), Checked(1)) == Checked(1)
    assert trip(codec_for(point), point(1, WHEN)) == point(1, WHEN)


def test_a_model_that_refuses_its_own_fields_is_found_before_the_pause() -> None:
    @dataclass
    class Once:
        a: int

        def __post_init__(self) -> None:
            if self.a > 1:
                raise ValueError("no")
            self.a += 1

    class OnceModel(BaseModel):
        a: int

        def model_post_init(self, context: object, /) -> None:
            if self.a > 1:
                raise ValueError("no")
            self.a += 1

    for value in (Once(1), OnceModel(a=1)):
        with pytest.raises(SchemaError, match="refused its own fields"):
            codec_for(type(value)).check(value)


@dataclass
class Dog(Address):
    pass


class BigOrder(Order):
    pass


def without_field() -> Address:
    address = Address("x")
    del address.street
    return address


@pytest.mark.parametrize(
    ("annotation", "value", "path", "words"),
    [
        (Address, Dog("x"), "value", "expected Address, found Dog"),
        (Order, BigOrder(id=1), "value", "expected Order, found BigOrder"),
        (Address, {"street": "x"}, "value", "expected Address, found dict"),
        (Colour, "r", "value", "expected Colour, found str"),
        (Level, 1, "value", "expected Level, found int"),
        (int, Level.LOW, "value", "expected int, found Level"),
        (Person, Person("x", [Address("y", WHEN)]), "value.homes[0].since", "expected date | None, found datetime"),
        (Options, {"dry": True, "at": "now"}, "value.at", "expected datetime, found str"),
        (Options, {}, "value.dry", "missing"),
        (Options, {"dry": True, "x": 1}, "value.x", "no such key"),
        (Options, [], "value", "expected Options, found list"),
        (Settings, {}, "value.must", "missing"),
        (Address, without_field(), "value.street", "no value"),
        (Order, Order.model_construct(), "value.id", "no value"),
        (Loose, Loose.model_validate({"id": 1, "$t": "x"}), "value['$t']", "this name"),
        (Loose, Loose.model_validate({"id": 1, "x": 1j}), "value.x", "complex"),
        (Any, Address("x"), "value", "the model Address needs a declared type"),
        (Any, Order(id=1), "value", "the model Order needs a declared type"),
        (Any, Line("x"), "value", "the model Line needs a declared type"),
        (Box[int], Box("x"), "value.content", "expected int"),
    ],
)
def test_what_a_model_cannot_store_is_refused_with_its_path(
    annotation: object, value: object, path: str, words: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        codec_for(annotation).encode(value)
    assert (caught.value.path, caught.value.code) == (path, "not_storable")
    assert words in caught.value.reason


def test_a_flag_with_unnamed_bits_is_refused() -> None:
    class Wide(Flag, boundary=FlagBoundary.KEEP):
        A = 1

    with pytest.raises(SchemaError, match="has no name"):
        codec_for(Wide).encode(Wide(3))


def model(*v: object) -> object:
    return {"$t": "model", "v": list(v)}


@pytest.mark.parametrize(
    ("annotation", "tree", "path", "words"),
    [
        (Address, model("Other", {}), "value", "found another model"),
        (Address, model("Address"), "value", "its type and its fields"),
        (Address, model("Address", []), "value", "its type and its fields"),
        (Address, model("Address", {}), "value.street", "has no street"),
        (Address, model("Address", {"street": 1}), "value.street", "expected str"),
        (Address, model("Address", {"street": "x", "zip": "1"}), "value.zip", "no such field"),
        (Address, model("Address", {"street": "x"}, ["since"]), "value", "its type and its fields"),
        (Line, model("Line", {}), "value.item", "has no item"),
        (Order, model("Order", {}), "value.id", "has no id"),
        (Order, model("Order", {"id": 1, "x": 1}), "value.x", "no such field"),
        (Order, model("Order", {"id": 1}, []), "value", "names its unset fields"),
        (Order, model("Order", {"id": 1}, "paid"), "value", "names its unset fields"),
        (Order, model("Order", {"id": 1}, ["x"]), "value", "names its unset fields"),
        (Order, model("Order", {"id": 1}, ["paid", "lines"]), "value", "names its unset fields"),
        (Loose, model("Loose", {"id": 1, "x": {"$t": "model", "v": []}}), "value.x", "without a declared type"),
        (Colour, {"$t": "enum", "v": ["Colour", "GREEN"]}, "value", "no such member"),
        (Colour, {"$t": "enum", "v": ["Colour", "CRIMSON"]}, "value", "one exact form"),
        (Colour, {"$t": "enum", "v": ["Colour", 1]}, "value", "no such member"),
        (Colour, {"$t": "enum", "v": ["Hue", "RED"]}, "value", "found another enum"),
        (Access, {"$t": "enum", "v": ["Access", "WRITE|READ"]}, "value", "one exact form"),
        (Access, {"$t": "enum", "v": ["Access", "READ|X"]}, "value", "no such member"),
        (Options, {"$t": "x"}, "value", "expected Options, found the tag x"),
        (Options, {"dry": True, "x": 1}, "value.x", "no such key"),
        (Options, {"dry": 1}, "value.dry", "expected bool"),
        (Options, {}, "value.dry", "missing"),
    ],
)
def test_a_tree_that_is_no_such_model_is_refused(annotation: object, tree: object, path: str, words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        codec_for(annotation).decode(tree)
    assert (caught.value.path, caught.value.code) == (path, "not_decodable")
    assert words in caught.value.reason


def test_a_field_that_is_new_since_then_takes_its_default() -> None:
    assert codec_for(Address).decode(model("Address", {"street": "x"})) == Address("x")
    assert codec_for(Line).decode(model("Line", {"item": "x"})) == Line("x")
    assert codec_for(Box[int]).decode(model("Box", {"content": 1})) == Box(1)
    order = codec_for(Order).decode(model("Order", {"id": 1}))
    assert order == Order(id=1)
    assert isinstance(order, Order)
    assert order.model_fields_set == {"id"}


@pytest.mark.parametrize("leaf", [Address("x"), Colour.RED, {"dry": True}])
def test_models_count_as_levels(leaf: object) -> None:
    annotation: Any = Options if isinstance(leaf, dict) else type(leaf)
    for _ in range(32):
        annotation, leaf = list[annotation], [leaf]
    with pytest.raises(SchemaError, match="32 levels"):
        codec_for(annotation).encode(leaf)
    tree: object = {"dry": True} if annotation is Options else model("Address", {})
    for _ in range(32):
        tree = [tree]
    with pytest.raises(SchemaError):
        codec_for(annotation).decode(tree)


def test_an_init_var_is_refused_at_decoration() -> None:
    @dataclass
    class Hidden:
        a: int
        b: InitVar[int]

    with pytest.raises(SchemaError, match="InitVar") as caught:
        codec_for(list[Hidden])
    assert caught.value.path == "[].b"


def test_a_key_named_like_a_tag_is_refused_at_decoration() -> None:
    tagged = TypedDict("tagged", {"$t": int})
    with pytest.raises(SchemaError, match="this name"):
        codec_for(tagged)
