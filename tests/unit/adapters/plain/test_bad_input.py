"""Arguments that cannot be bound, kept or shown: one line with a code, and nothing recorded or half done."""

import asyncio
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel

from interlock.domain.errors import CallError
from interlock.testing import Rehearsal


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


class Stubborn:
    """Raises whatever is done with it."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")


class Sneaky(str):
    """Text that says something else when asked again."""

    __slots__ = ()

    def __str__(self) -> str:
        return "eve"


ODD: dict[str, Callable[[], Any]] = {
    "cyclic": cyclic,
    "too_deep": lambda: deep(100),
    "far_too_deep": lambda: deep(100_000),
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "decimal_nan": lambda: Decimal("NaN"),
    "lone_surrogate": lambda: "\ud800",
    "surrogate_key": lambda: {"\udfff": 1},
    "generator": lambda: (number for number in range(3)),
    "iterator": lambda: iter([1, 2]),
    "function": lambda: cyclic,
    "object": object,
    "stubborn": Stubborn,
    "stubborn_in_a_list": lambda: [Stubborn()],
    "file": lambda: open,
    "type": lambda: int,
    "exception": lambda: ValueError("x"),
    "coroutine_function": lambda: asyncio.sleep,
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("reversibility", ["irreversible", "reversible", "read_only"])
def test_a_value_that_cannot_be_kept_is_refused_before_the_pause(
    stage: Rehearsal, odd: Callable[[], Any], reversibility: Any
) -> None:
    ran: list[object] = []

    @stage.il.tool(reversibility)
    def act(value: Any, *, note: str = "") -> None:
        ran.append(value)

    with stage.il.run("job") as run:
        for call in (lambda: act(odd()), lambda: act({"items": [1, {"when": odd()}]})):
            with pytest.raises(CallError) as error:
                call()
            assert error.value.code in ("not_storable", "arguments_invalid")
            assert "args.value" in str(error.value)
            assert "\n" not in str(error.value)
            assert len(str(error.value)) < 500
    assert (ran, run.status, stage.states("job")) == ([], "finished", [])
    assert [event.type.value for event in stage.events("job")] == ["RunStarted", "RunFinished"]


@pytest.mark.parametrize(
    ("args", "kwargs", "names"),
    [
        ((), {}, "args.to"),
        (("bob",), {}, "args.amount"),
        (("bob", 1, 2, 3), {}, "args"),
        (("bob", 1), {"colour": "red"}, "colour"),
        (("bob", 1), {"to": "eve"}, "args.to"),
        (("bob", "one"), {}, "args.amount"),
        ((7, 1), {}, "args.to"),
        ((None, 1), {}, "args.to"),
        (("bob", 1.5), {}, "args.amount"),
    ],
)
@pytest.mark.parametrize("reversibility", ["irreversible", "reversible", "read_only"])
def test_arguments_that_do_not_fit_are_refused_and_nothing_is_recorded(
    stage: Rehearsal, reversibility: Any, args: tuple[Any, ...], kwargs: dict[str, Any], names: str
) -> None:
    ran: list[object] = []

    @stage.il.tool(reversibility)
    def pay(to: str, amount: int) -> None:
        ran.append(to)

    with stage.il.run("job") as run, pytest.raises(CallError) as error:
        pay(*args, **kwargs)
    assert error.value.code == "arguments_invalid"
    assert names in str(error.value)
    assert "\n" not in str(error.value)
    assert (ran, run.status, stage.states("job")) == ([], "finished", [])


def test_a_validator_that_raises_something_else_is_an_error_of_the_arguments(stage: Rehearsal) -> None:
    ran: list[object] = []

    def look(value: str) -> str:
        raise RuntimeError("the look-up is down")

    @stage.il.tool("irreversible")
    def send(to: Annotated[str, AfterValidator(look)]) -> None:
        ran.append(to)

    with stage.il.run("job"), pytest.raises(CallError, match="look-up is down"):
        send("bob")
    assert (ran, stage.states("job")) == ([], [])


def test_five_megabytes_are_kept_as_a_blob_and_arrive_whole(both: Rehearsal) -> None:
    got: list[str] = []

    @both.il.tool("irreversible")
    def send(body: str, parts: list[bytes]) -> int:
        got.append(body)
        assert parts == [b"\x00\xff" * 500_000]
        return len(body)

    body = "häß" * 1_700_000
    for _ in range(2):
        with both.il.run("job") as run:
            send(body, [b"\x00\xff" * 500_000])
        both.reviewer.script["send"] = "approve"
        both.reviewer.decide_all()
    assert run.status == "finished"
    assert got == [body]
    (action,) = both.actions("job")
    view = both.il.kernel.action(action.id)
    assert view is not None
    assert len(view.current.document) < 4_000


def test_a_five_megabyte_result_comes_back_from_the_record(both: Rehearsal) -> None:
    made: list[int] = []

    @both.il.tool("reversible")
    def make() -> str:
        made.append(1)
        return "x" * 5_000_000

    @both.il.tool("read_only")
    def look() -> str:
        made.append(1)
        return "y" * 5_000_000

    @both.il.tool("irreversible")
    def send(to: str) -> str:
        return to

    for _ in range(2):
        with both.il.run("job"):
            assert (len(make()), len(look())) == (5_000_000, 5_000_000)
            send("bob")
    assert made == [1, 1]


class Order(BaseModel):
    items: list[dict[str, Any]]


def test_the_path_of_the_offender_is_named_to_the_item(stage: Rehearsal) -> None:
    @stage.il.tool("irreversible")
    def order(order: Order) -> None: ...

    when = [datetime.now(tz=UTC), date(2026, 1, 1), object()]
    with stage.il.run("job"), pytest.raises(CallError, match=r"args\.order\.items\[2\]\.when"):
        order(Order(items=[{"when": each} for each in when]))
    assert stage.states("job") == []


def test_text_that_is_not_what_it_seems_is_kept_as_its_bytes(stage: Rehearsal) -> None:
    got: list[str] = []

    @stage.il.tool("irreversible")
    def send(to: str) -> str:
        got.append(to)
        return to

    with stage.il.run("job"):
        send(Sneaky("bob"))
    (card,) = stage.reviewer.open()
    stage.reviewer.decide("approve")
    with stage.il.run("job"):
        send(Sneaky("bob"))
    assert got == [card.about.current.arguments["to"]] == ["bob"]


def test_a_workflow_is_not_started_with_input_that_cannot_be_kept(both: Rehearsal) -> None:
    @both.il.workflow
    def agent(what: Any, number: int = 1) -> None: ...

    for args, kwargs in (((object(),), {}), ((float("nan"),), {}), ((), {}), ((1, "two"), {}), ((1,), {"colour": 2})):
        for start in (agent.start, agent.submit):
            with pytest.raises(CallError) as error:
                start(*args, **kwargs)  # type: ignore[operator]
            assert "\n" not in str(error.value)
    assert both.events() == ()


def test_a_workflow_result_that_cannot_be_kept_is_said_and_the_run_is_finished(both: Rehearsal) -> None:
    @both.il.workflow
    def agent() -> Any:
        return object()

    run = agent.start(key="job")
    assert run.status == "finished"
    with pytest.raises(CallError, match="result_not_stored"):
        _ = run.result


def test_changing_an_argument_while_the_card_is_open_changes_nothing(both: Rehearsal) -> None:
    got: list[Any] = []

    @both.il.tool("irreversible")
    def send(letter: dict[str, Any]) -> None:
        got.append(letter)

    letter: dict[str, Any] = {"to": ["bob"], "text": "hello"}
    with both.il.run("job"):
        send(letter)
    letter["to"].append("eve")
    both.reviewer.decide("approve")
    letter["to"].pop()
    with both.il.run("job"):
        send(letter)
    letter["to"].append("eve")
    assert got == [{"to": ["bob"], "text": "hello"}]
