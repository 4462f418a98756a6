"""Binding, validating, storing and making calls."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Required, TypedDict
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainValidator, model_validator

from interlock.schema import MAX_DEPTH, Parameters, SchemaError
from interlock.schema.compare import same

WHEN = datetime(2026, 6, 1, 10, tzinfo=UTC)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Item:
    name: str
    when: datetime | None = None
    price: float = 0.0


class Line(NamedTuple):
    item: str
    count: int = 1


class Options(TypedDict):
    dry: bool
    at: NotRequired[datetime]
    deep: NotRequired[Deep]


class Deep(TypedDict, total=False):
    must: Required[int]
    names: list[str]


class Loop(TypedDict):
    again: NotRequired[Loop]


class Order(BaseModel):
    amount: int
    items: list[Item] = []

    @model_validator(mode="after")
    def capped(self) -> Order:
        self.amount = min(self.amount, 50)
        return self


def clamp(amount: int) -> int:
    return min(amount, 50)


def trip(parameters: Parameters, values: dict[str, object]) -> dict[str, object]:
    trees = parameters.encode(values)
    parameters.check_round_trip(values)
    parameters.check_round_trip(values, trees)
    return parameters.decode(json.loads(json.dumps(trees)))


def refused(call: Any, code: str = "arguments_invalid") -> tuple[str, str]:
    with pytest.raises(SchemaError) as caught:
        call()
    assert caught.value.code == code
    assert "\n" not in caught.value.reason
    return caught.value.path, caught.value.reason


def send(to: str, subject: str, body: str = "", *, urgent: bool = False) -> str:
    return f"{to}{subject}{body}{urgent}"


# ------------------------------------------------------------------------------------------ the shape of a tool


def test_a_function_is_described() -> None:
    parameters = Parameters.of(send)
    assert parameters.names == ("to", "subject", "body", "urgent")
    assert parameters.types == {"to": "str", "subject": "str", "body": "str", "urgent": "bool"}
    assert parameters.json_schema == {
        "title": "send",
        "type": "object",
        "properties": {
            "to": {"title": "To", "type": "string"},
            "subject": {"title": "Subject", "type": "string"},
            "body": {"title": "Body", "type": "string", "default": ""},
            "urgent": {"title": "Urgent", "type": "boolean", "default": False},
        },
        "required": ["to", "subject"],
        "additionalProperties": False,
    }
    assert list(parameters.signature.parameters) == list(parameters.visible_signature.parameters)
    assert not parameters.takes_self


def test_a_function_without_parameters_is_described() -> None:
    def ping() -> None: ...

    parameters = Parameters.of(ping)
    assert parameters.json_schema == {
        "title": "ping",
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    assert parameters.bind((), {}) == {}
    assert parameters.encode({}) == {}
    assert parameters.call_args({}) == ((), {})
    assert refused(lambda: parameters.bind((1,), {}))[1] == "too many positional arguments"


class Bank:
    rate = 2

    def pay(self, amount: int, key: str = "") -> int:
        return amount * self.rate

    @classmethod
    def open(cls, name: str) -> str:
        return name

    @staticmethod
    def close(name: str) -> str:
        return name

    def __call__(self, amount: Decimal) -> Decimal:
        return amount

    def nothing() -> None:  # pyright: ignore[reportSelfClsParameterName] - found in the wild
        ...


def test_self_is_not_an_argument() -> None:
    parameters = Parameters.of(Bank.pay)
    assert parameters.takes_self
    assert parameters.names == ("amount", "key")
    assert list(parameters.signature.parameters) == ["self", "amount", "key"]
    assert list(parameters.visible_signature.parameters) == ["amount", "key"]
    values = parameters.bind((3,), {})
    args, kwargs = parameters.call_args(values)
    assert Bank.pay(Bank(), *args, **kwargs) == 6


@pytest.mark.parametrize(
    ("fn", "names"),
    [
        (Bank().pay, ("amount", "key")),
        (Bank.open, ("name",)),
        (Bank.__dict__["open"].__func__, ("name",)),
        (Bank.close, ("name",)),
        (Bank.__dict__["close"], ("name",)),
        (Bank(), ("amount",)),
        (Bank.nothing, ()),
        (functools.partial(send, "a"), ("subject", "body", "urgent")),
        (functools.partial(Bank.pay, Bank()), ("amount", "key")),
        (Item, ("name", "when", "price")),
    ],
)
def test_methods_partials_classes_and_callable_objects_are_read(fn: Any, names: tuple[str, ...]) -> None:
    assert Parameters.of(fn).names == names


def test_a_wrapped_function_is_read_in_its_own_module() -> None:
    @functools.wraps(send)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return send(*args, **kwargs)

    assert Parameters.of(wrapper).names == ("to", "subject", "body", "urgent")


def test_hidden_parameters_are_no_arguments() -> None:
    def pay(amount: int, key: object = None, note: str = "", *, run: Fraction) -> tuple[object, ...]:
        return amount, key, note, run

    parameters = Parameters.of(pay, hide=frozenset({"key", "run"}))
    assert parameters.names == ("amount", "note")
    values = parameters.bind((1, "n"), {})
    args, kwargs = parameters.call_args(values, {"key": "k", "run": Fraction(1)})
    assert pay(*args, **kwargs) == (1, "k", "n", Fraction(1))
    args, kwargs = parameters.call_args(values, {"run": Fraction(1)})
    assert pay(*args, **kwargs) == (1, None, "n", Fraction(1))
    assert refused(lambda: parameters.call_args(values)) == ("args.run", "is filled in by the system, and was not")
    assert refused(lambda: parameters.bind((1,), {"key": "k"})) == ("args.key", "is filled in by the system")


def test_hidden_variadic_parameters_may_stay_empty() -> None:
    def pay(amount: int, *args: object, **config: object) -> tuple[object, ...]:
        return amount, args, config

    parameters = Parameters.of(pay, hide=frozenset({"args", "config"}))
    args, kwargs = parameters.call_args({"amount": 1})
    assert pay(*args, **kwargs) == (1, (), {})


def test_hiding_a_parameter_that_is_not_there_is_refused() -> None:
    assert refused(lambda: Parameters.of(send, hide=frozenset({"key"})), "not_storable")[0] == "args.key"


def test_what_has_no_signature_is_refused() -> None:
    assert "@classmethod" in refused(lambda: Parameters.of(Bank.__dict__["open"]), "not_storable")[1]
    assert "signature" in refused(lambda: Parameters.of(type), "not_storable")[1]


# ------------------------------------------------------------------------------------------ names in annotations


def test_local_types_are_found_while_the_decorator_runs() -> None:
    @dataclass
    class Inner:
        when: date

    @dataclass
    class Outer:
        inner: list[Inner]

    class Tool:
        class Kind(Enum):
            A = 1

        def run(self, outer: Outer, kind: Tool.Kind | None = None) -> None: ...

    parameters = Parameters.of(Tool.run)
    values = parameters.bind(({"inner": [{"when": "2026-01-01"}]},), {})
    assert values["outer"] == Outer([Inner(date(2026, 1, 1))])
    assert trip(parameters, values) == values


def test_names_of_the_class_body_are_found_while_it_runs() -> None:
    class Tool:
        class Kind(Enum):
            A = 1

        def run(self, kind: Kind) -> None: ...

        parameters = Parameters.of(run)

    assert Tool.parameters.bind((Tool.Kind.A,), {}) == {"kind": Tool.Kind.A}


def test_names_of_the_closure_are_found_later() -> None:
    def make() -> Any:
        @dataclass
        class Inner:
            a: int

        def tool(inner: Inner, unset: Any = None) -> Any:
            return Inner, later

        if tool is None:  # pyright: ignore[reportUnnecessaryComparison] - leaves `later` unassigned
            later = 1
        return tool

    tool = make()
    assert Parameters.of(tool).types["inner"] == "Inner"


def test_a_name_that_cannot_be_resolved_is_refused_clearly() -> None:
    def tool(a: int, booking: Nowhere) -> None: ...  # pyright: ignore[reportUndefinedVariable] # noqa: F821

    path, reason = refused(lambda: Parameters.of(tool), "not_storable")
    assert path == "args.booking"
    assert "'Nowhere' is not defined" in reason


def test_an_annotation_that_cannot_be_stored_is_refused_with_its_path() -> None:
    @dataclass
    class Holder:
        ratio: list[Fraction]

    def tool(a: int, holder: Holder) -> None: ...

    assert refused(lambda: Parameters.of(tool), "not_storable")[0] == "args.holder.ratio[]"


def test_a_missing_annotation_is_any() -> None:
    def tool(a, b=1): ...  # noqa: ANN001, ANN202 # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]

    parameters = Parameters.of(tool)  # pyright: ignore[reportUnknownArgumentType]
    assert parameters.types == {"a": "any", "b": "any"}
    values = parameters.bind(([1.5, {"$t": (1,)}],), {})
    assert same(trip(parameters, values), {"a": [1.5, {"$t": (1,)}], "b": 1})


# ------------------------------------------------------------------------------------------ binding


@pytest.mark.parametrize(
    ("args", "kwargs", "values"),
    [
        (("a", "b"), {}, ("a", "b", "", False)),
        (("a", "b", "c"), {}, ("a", "b", "c", False)),
        (("a",), {"subject": "b"}, ("a", "b", "", False)),
        ((), {"subject": "b", "to": "a", "urgent": True}, ("a", "b", "", True)),
        (("a", "b", "c"), {"urgent": True}, ("a", "b", "c", True)),
        (("a", "b"), {"urgent": "yes"}, ("a", "b", "", True)),
    ],
)
def test_a_call_is_bound_and_defaults_are_filled_in(
    args: tuple[object, ...], kwargs: dict[str, object], values: tuple[object, ...]
) -> None:
    parameters = Parameters.of(send)
    bound = parameters.bind(args, kwargs)
    assert bound == dict(zip(parameters.names, values, strict=True))
    assert list(trip(parameters, bound).values()) == list(values)


@pytest.mark.parametrize(
    ("args", "kwargs", "path", "reason"),
    [
        ((), {}, "args.to", "is required (and 1 more)"),
        (("a",), {}, "args.subject", "is required"),
        (("a", "b", "c", True), {}, "args", "too many positional arguments"),
        (("a", "b"), {"zz": 1}, "args.zz", "no such argument"),
        (("a", "b"), {"not a name": 1}, "args['not a name']", "no such argument"),
        (("a", "b"), {"to": 1}, "args.to", "is given twice"),
        (("a", 5), {}, "args.subject", "Input should be a valid string"),
        (("a", 5, 6), {}, "args.subject", "Input should be a valid string (and 1 more)"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_in_one_line(
    args: tuple[object, ...], kwargs: dict[str, object], path: str, reason: str
) -> None:
    assert refused(lambda: Parameters.of(send).bind(args, kwargs)) == (path, reason)


def test_every_kind_of_parameter_is_bound_and_called_again() -> None:
    def tool(a: int, /, b: float, *rest: date, c: str = "c", **more: Decimal) -> tuple[object, ...]:
        return a, b, rest, c, more

    parameters = Parameters.of(tool)
    assert parameters.types["rest"] == "tuple[date, ...]"
    assert parameters.types["more"] == "dict[str, Decimal]"
    values = parameters.bind((1, 2, date(2026, 1, 1), "2026-01-02"), {"x": "1.50", "$t": 2})
    assert values == {
        "a": 1,
        "b": 2.0,
        "rest": (date(2026, 1, 1), date(2026, 1, 2)),
        "c": "c",
        "more": {"x": Decimal("1.50"), "$t": Decimal(2)},
    }
    args, kwargs = parameters.call_args(trip(parameters, values))
    assert tool(*args, **kwargs) == (1, 2.0, (date(2026, 1, 1), date(2026, 1, 2)), "c", values["more"])
    args, kwargs = parameters.call_args(parameters.bind((1, 2), {}))
    assert tool(*args, **kwargs) == (1, 2.0, (), "c", {})
    assert refused(lambda: parameters.bind((1, 2, "x"), {}))[0] == "args.rest[0]"
    assert refused(lambda: parameters.bind((1, 2), {"x": "y"}))[0] == "args.more.x"
    assert refused(lambda: parameters.bind((), {"a": 1, "b": 2}))[0] == "args.a"


def test_keywords_may_be_typed_one_by_one() -> None:
    class Keywords(typing_extensions.TypedDict):
        at: date

    def tool(**options: typing_extensions.Unpack[Keywords]) -> None: ...

    parameters = Parameters.of(tool)
    assert parameters.bind((), {"at": "2026-01-01"}) == {"options": {"at": date(2026, 1, 1)}}
    assert refused(lambda: parameters.bind((), {})) == ("args.options", "is required")


def test_values_become_of_their_declared_types() -> None:
    def tool(ratio: float, count: int, when: datetime, names: tuple[str, ...], tags: set[str], where: Path) -> None: ...

    values = Parameters.of(tool).bind((1, "2", "2026-06-01T10:00:00Z", ["a"], ["b"], "/x"), {})
    assert same(values["ratio"], 1.0)
    assert list(values.values()) == [1.0, 2, WHEN, ("a",), {"b"}, Path("/x")]
    assert same(trip(Parameters.of(tool), values), values)


def test_validators_run_before_anything_is_shown() -> None:
    def tool(amount: Annotated[int, AfterValidator(clamp)], order: Order) -> None: ...

    parameters = Parameters.of(tool)
    values = parameters.bind((100, {"amount": 100}), {})
    assert values["amount"] == 50
    assert values["order"] == Order(amount=50)
    assert parameters.decode(parameters.encode(values)) == values


def test_a_validator_that_breaks_refuses_the_call() -> None:
    def broken(value: object) -> object:
        raise KeyError("\n" + "x" * 500)

    def tool(a: Annotated[int, BeforeValidator(broken)]) -> None: ...

    path, reason = refused(lambda: Parameters.of(tool).bind((1,), {}))
    assert path == "args"
    assert reason.startswith("a validator raised KeyError")
    assert len(reason) == 200


@pytest.mark.parametrize(
    ("args", "path"),
    [
        (([{"name": "a"}, {"name": "b", "when": "x"}],), "args.items[1].when"),
        (([{"name": "a", "zz": 1}],), "args.items[0].zz"),
        (([{}],), "args.items[0].name"),
        (([{"name": "a"}], "green"), "args.extra"),
        (([], ["a", "b"]), "args.extra[0]"),
        (([], {"a": "x"}), "args.extra.a"),
        (([], None, {"x"}), "args.tags[0]"),
        (([], None, set(), Order.model_construct(amount="x")), "args.order.amount"),
        (([], None, set(), None, {1: "x"}), "args.table[1]"),
    ],
)
def test_an_invalid_value_is_named_where_it_lies(args: tuple[object, ...], path: str) -> None:
    class Strict(BaseModel, revalidate_instances="always"):
        amount: int

    def tool(
        items: list[Item],
        extra: Colour | list[int] | dict[str, int] | None = None,
        tags: set[int] | None = None,
        order: Strict | None = None,
        table: dict[int, int] | None = None,
    ) -> None: ...

    if len(args) > 3 and args[3] is not None:
        args = (*args[:3], Strict.model_construct(amount="x"))
    assert refused(lambda: Parameters.of(tool).bind(args, {}))[0] == path


# ------------------------------------------------------------------------------------------ defaults


def test_mutable_defaults_are_copied() -> None:
    shared = Item("a")

    def tool(names: list[str] = [], item: Item = shared) -> None: ...  # noqa: B006 - the mistake is what is tested

    parameters = Parameters.of(tool)
    first, second = parameters.bind((), {}), parameters.bind((), {})
    assert first == {"names": [], "item": shared}
    assert first["names"] is not second["names"]
    assert first["item"] is not second["item"]


def test_defaults_are_of_their_declared_types() -> None:
    def tool(ratio: float = 1, amount: Annotated[int, AfterValidator(clamp)] = 100, x: str = None) -> None: ...  # pyright: ignore[reportArgumentType] # noqa: RUF013

    parameters = Parameters.of(tool)
    assert same(parameters.bind((), {}), {"ratio": 1.0, "amount": 50, "x": None})
    assert parameters.types["x"] == "str | None"
    assert parameters.bind((), {"x": "a"})["x"] == "a"


@pytest.mark.parametrize("default", [object(), "x", float("nan")])
def test_a_default_that_does_not_fit_its_annotation_is_refused(default: Any) -> None:
    def tool(a: float = default, b: Any = None) -> None: ...

    path, reason = refused(lambda: Parameters.of(tool), "not_storable")
    assert path == "args.a"
    assert reason.startswith("the default does not fit the annotation")


def test_a_default_that_cannot_be_stored_is_refused() -> None:
    def tool(a: Any = object) -> None: ...

    assert refused(lambda: Parameters.of(tool), "not_storable")[0] == "args.a"


def test_fields_of_pydantic_give_constraints_and_defaults() -> None:
    made: list[object] = []

    def fresh() -> str:
        made.append(None)
        return str(len(made))

    def tool(
        a: int = Field(default=3, ge=1, description="how many"),
        b: Annotated[int, Field(ge=1)] = 2,
        c: Annotated[list[str], Field(default_factory=list)] = Field(default_factory=lambda: ["x"]),  # noqa: B008 - as Pydantic has it
        d: str = Field(default_factory=fresh),
        e: Annotated[int, Field(default=5, le=9), "meta"] = Field(),
        *,
        f: Annotated[int, Field(default=5, le=9), "meta"],
    ) -> None: ...

    parameters = Parameters.of(tool)
    values = parameters.bind((), {"e": 1})
    assert values == {"a": 3, "b": 2, "c": ["x"], "d": "1", "e": 1, "f": 5}
    assert parameters.bind((), {"e": 1})["d"] == "2"
    properties: Any = parameters.json_schema["properties"]
    assert properties["a"] == {
        "default": 3,
        "description": "how many",
        "minimum": 1,
        "title": "A",
        "type": "integer",
    }
    assert parameters.json_schema["required"] == ["e"]
    assert refused(lambda: parameters.bind((0,), {"e": 1}))[0] == "args.a"
    assert refused(lambda: parameters.bind((), {"e": 10}))[0] == "args.e"
    assert refused(lambda: parameters.bind((), {})) == ("args.e", "is required")


def test_defaults_without_a_json_form_are_left_out_of_the_schema() -> None:
    def tool(a: Any = (1, b"\xff", WHEN)) -> None: ...

    properties: Any = Parameters.of(tool).json_schema["properties"]
    assert properties["a"]["default"] == [1, "_w==", "2026-06-01T10:00:00Z"]

    class Odd(BaseModel):
        x: int

        def __init__(self, **data: Any) -> None:
            super().__init__(**data)

    Odd.__pydantic_serializer__ = None  # pyright: ignore[reportAttributeAccessIssue] - as broken as a model can be

    def other(a: Odd = Odd(x=1)) -> None: ...  # noqa: B008

    assert Parameters.of(other).bind((), {}) == {"a": Odd(x=1)}


def test_what_pydantic_cannot_validate_or_describe_is_refused() -> None:
    def loop(a: Loop) -> None: ...

    if sys.version_info < (3, 12):
        assert refused(lambda: Parameters.of(loop), "not_storable")[0] == "args.a"

    class Undescribed(BaseModel):
        a: Annotated[int, PlainValidator(lambda v: v, json_schema_input_type=type(None).__class__)]

    def tool(a: Undescribed) -> None: ...

    refused(lambda: Parameters.of(tool), "not_storable")

    def bad(a: Annotated[int, Field(discriminator="x")]) -> None: ...

    assert "Pydantic cannot validate" in refused(lambda: Parameters.of(bad), "not_storable")[1]


def test_the_old_typed_dict_is_validated_on_every_version() -> None:
    def tool(
        a: Options,
        b: list[Options] | None = None,
        c: Annotated[Options, "x"] | Mapping[str, int] = {},  # noqa: B006 - copied
    ) -> None: ...

    parameters = Parameters.of(tool)
    values = parameters.bind(({"dry": "yes", "at": "2026-06-01T10:00:00Z"},), {"b": [{"dry": False}]})
    assert values["a"] == {"dry": True, "at": WHEN}
    assert values["b"] == [{"dry": False}]
    assert trip(parameters, values) == values
    assert refused(lambda: parameters.bind(({},), {}))[0] == "args.a.dry"
    assert refused(lambda: parameters.bind(({"dry": True, "deep": {}},), {}))[0] == "args.a.deep.must"


# ------------------------------------------------------------------------------------------ storing


def everything(
    text: str,
    number: int,
    ratio: float,
    flag: bool,
    nothing: None,
    names: list[str],
    pair: tuple[int, str],
    tags: frozenset[str],
    table: dict[date, Sequence[int]],
    when: datetime,
    day: date,
    clock: time,
    span: timedelta,
    amount: Decimal,
    key: UUID,
    colour: Colour,
    data: bytes,
    where: Path,
    item: Item,
    order: Order,
    line: Line,
    options: Options,
    either: int | Item | None,
    choice: Literal["a", 1],
    anything: Any,
) -> None: ...


everything_values = st.fixed_dictionaries(
    {
        "text": st.text(st.characters(exclude_categories=["Cs"])),
        "number": st.integers(),
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "flag": st.booleans(),
        "nothing": st.none(),
        "names": st.lists(st.text("ab"), max_size=2),
        "pair": st.tuples(st.integers(), st.text("ab")),
        "tags": st.frozensets(st.text("ab")),
        "table": st.dictionaries(st.dates(), st.lists(st.integers()) | st.tuples(st.integers()), max_size=2),
        "when": st.datetimes(timezones=st.sampled_from([UTC, ZoneInfo("Europe/Berlin")]) | st.none()),
        "day": st.dates(),
        "clock": st.times(),
        "span": st.timedeltas(),
        "amount": st.decimals(allow_nan=False, allow_infinity=False),
        "key": st.uuids(),
        "colour": st.sampled_from(Colour),
        "data": st.binary(),
        "where": st.just(Path("/a/b")),
        "item": st.builds(Item, st.text("ab"), st.none() | st.just(WHEN), st.just(1.5)),
        "order": st.builds(Order, amount=st.integers(0, 100)),
        "line": st.builds(Line, st.text("ab"), st.integers()),
        "options": st.just({"dry": True}),
        "either": st.none() | st.integers() | st.just(Item("a")),
        "choice": st.sampled_from(["a", 1]),
        "anything": st.sampled_from([1.5, b"x", [WHEN], {"$t": 1}, {1: 2}]),
    }
)


EVERYTHING = Parameters.of(everything)


@given(everything_values)
def test_every_supported_type_is_validated_stored_and_restored(values: dict[str, object]) -> None:
    bound = EVERYTHING.bind((), values)
    assert same(bound, values)
    assert same(trip(EVERYTHING, bound), bound)


def numpy_scalar() -> object:
    return type("float64", (float,), {"__module__": "numpy"})(1.5)


def cyclic() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    "value",
    [Fraction(1, 3), 1j, range(3), float("nan"), float("inf"), numpy_scalar(), "\ud800", cyclic(), object(), print],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_stored_is_refused_before_the_pause_with_its_path(value: object) -> None:
    def tool(items: list[Any]) -> None: ...

    parameters = Parameters.of(tool)
    values = parameters.bind(([1, 2, 3, {"when": value}],), {})
    path, _ = refused(lambda: parameters.encode(values), "not_storable")
    assert path.startswith("args.items[3].when")


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
        datetime(2026, 10, 25, 2, 30),  # noqa: DTZ001 - naive on purpose
        date(2026, 1, 1),
        timedelta(days=-1, microseconds=1),
        Decimal("0.10"),
        2**80,
        bytes(range(256)),
        UUID(int=1),
        Path("/a"),
        {1, 2},
        "x" * 1_000_000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_ordinary_values_are_the_same_after_a_restart(value: object) -> None:
    def tool(items: list[Any]) -> None: ...

    parameters = Parameters.of(tool)
    values = parameters.bind(([1, 2, 3, {"when": value}],), {})
    assert same(trip(parameters, values), values)


def test_room_is_left_for_the_document_around_the_arguments() -> None:
    def tool(a: Any) -> None: ...

    value: object = 1
    for _ in range(MAX_DEPTH - 3):
        value = [value]
    assert "32 levels" in refused(lambda: Parameters.of(tool).encode({"a": value}), "not_storable")[1]
    assert Parameters.of(tool).encode({"a": value[0]})  # pyright: ignore[reportIndexIssue]


def test_a_lone_surrogate_is_refused_on_the_fast_path_too() -> None:
    parameters = Parameters.of(send)
    values = parameters.bind(("a", "é\ud800"), {})
    assert refused(lambda: parameters.encode(values), "not_storable") == (
        "args.subject",
        "lone surrogate at character 1",
    )
    assert parameters.encode(parameters.bind(("a", "é"), {}))["subject"] == "é"


def test_values_without_one_of_the_arguments_are_not_encoded() -> None:
    assert refused(lambda: Parameters.of(send).encode({"to": "a"})) == ("args.subject", "is required")


def test_a_value_that_comes_back_different_is_refused() -> None:
    def tool(a: float) -> None: ...

    path, _ = refused(lambda: Parameters.of(tool).check_round_trip({"a": 1.0}, {"a": 1}), "not_storable")
    assert path == "args.a"


def test_stored_arguments_are_read_by_a_newer_version_of_the_tool() -> None:
    stored = Parameters.of(send).encode(Parameters.of(send).bind(("a", "b"), {}))

    def with_option(to: str, subject: str, body: str, urgent: bool, cc: list[str] = []) -> None: ...  # noqa: B006

    assert Parameters.of(with_option).decode(stored)["cc"] == []

    def with_need(to: str, subject: str, body: str, urgent: bool, cc: str) -> None: ...

    assert refused(lambda: Parameters.of(with_need).decode(stored), "not_decodable") == (
        "args.cc",
        "is not among the stored arguments",
    )

    def renamed(to: str, title: str, body: str, urgent: bool) -> None: ...

    assert refused(lambda: Parameters.of(renamed).decode(stored), "not_decodable") == (
        "args.subject",
        "is no longer an argument",
    )

    def retyped(to: int, subject: str, body: str, urgent: bool) -> None: ...

    assert refused(lambda: Parameters.of(retyped).decode(stored), "not_decodable")[0] == "args.to"
    assert refused(lambda: Parameters.of(send).decode([]), "not_decodable") == (
        "args",
        "expected an object, found an array",
    )


def test_stored_values_can_be_validated_again() -> None:
    def tool(amount: Annotated[int, Field(le=50)]) -> None: ...

    parameters = Parameters.of(tool)
    assert parameters.validate(parameters.decode({"amount": 50})) == {"amount": 50}
    assert refused(lambda: parameters.validate(parameters.decode({"amount": 51})))[0] == "args.amount"
    assert refused(lambda: parameters.validate({}))[1] == "is required"


# ------------------------------------------------------------------------------------------ a person's edit


def test_an_edit_in_plain_json_becomes_typed_values() -> None:
    def tool(
        amount: Decimal,
        start: datetime,
        colour: Colour,
        item: Item,
        line: Line,
        data: bytes,
        key: UUID,
        tags: set[int],
        note: str = "n",
        names: tuple[str, ...] = ("a",),
    ) -> None: ...

    values = Parameters.of(tool).validate_json(
        {
            "amount": "12.50",
            "start": "2026-06-01T10:00:00Z",
            "colour": "blue",
            "item": {"name": "a", "price": 1},
            "line": ["pen", 2],
            "data": "_-8=",
            "key": "00000000-0000-0000-0000-000000000001",
            "tags": [1, 2],
        }
    )
    assert same(
        values,
        {
            "amount": Decimal("12.50"),
            "start": WHEN,
            "colour": Colour.BLUE,
            "item": Item("a", None, 1.0),
            "line": Line("pen", 2),
            "data": b"\xff\xef",
            "key": UUID(int=1),
            "tags": {1, 2},
            "note": "n",
            "names": ("a",),
        },
    )
    assert same(trip(Parameters.of(tool), values), values)


@pytest.mark.parametrize(
    ("edit", "path", "reason"),
    [
        ({"to": "a", "subject": "b", "zz": 1}, "args.zz", "no such argument"),
        ({"to": "a"}, "args.subject", "is required"),
        ({"to": "a", "subject": 5}, "args.subject", "Input should be a valid string"),
        ({"to": "a", "subject": float("nan")}, "args", "not JSON: Out of range float values are not JSON compliant"),
        ({"to": "a", "subject": object()}, "args", "not JSON: Object of type object is not JSON serializable"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(edit: dict[str, object], path: str, reason: str) -> None:
    assert refused(lambda: Parameters.of(send).validate_json(edit)) == (path, reason)


def test_an_edit_keeps_what_it_does_not_name() -> None:
    def tool(start: datetime | str, amount: int, note: str = "") -> None: ...

    parameters = Parameters.of(tool)
    base = parameters.bind((WHEN, 1), {"note": "n"})
    assert parameters.validate_json({"amount": "2"}, base) == {"start": WHEN, "amount": 2, "note": "n"}
    assert refused(lambda: parameters.validate_json({}, {"amount": 1})) == ("args.start", "is required")


def test_the_resolved_signature_can_stand_on_a_wrapper() -> None:
    def tool(item: Item, n: int = 1) -> str: ...

    signature = Parameters.of(tool).visible_signature
    assert signature.parameters["item"].annotation is Item
    assert signature.parameters["n"].default == 1
    assert isinstance(signature, inspect.Signature)


@dataclass
class Recursive:
    children: list[Recursive] = field(default_factory=list["Recursive"])


def test_a_cyclic_model_is_refused() -> None:
    def tool(a: Recursive) -> None: ...

    loop = Recursive()
    loop.children.append(loop)
    values = Parameters.of(tool).bind((loop,), {})
    path, reason = refused(lambda: Parameters.of(tool).encode(values), "not_storable")
    assert path.startswith("args.a.children[0].children[0]")
    assert "contains itself" in reason
