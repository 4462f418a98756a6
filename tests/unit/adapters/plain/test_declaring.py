"""Guarding: every kind of callable, declarations, and no way round."""

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from interlock import Interlock
from interlock.domain.errors import SettingsError
from interlock.testing import Rehearsal, modify


def drive(stage: Rehearsal, call: Callable[[], Any], key: str = "job") -> Any:
    """Call it in a run, approve what it asks, and call it again."""
    with stage.il.run(key) as run:
        call()
    assert run.status == "waiting"
    stage.reviewer.decide("approve")
    with stage.il.run(key) as run:
        return call()
    raise AssertionError(run.status)


def test_methods_are_guarded_and_self_is_no_argument(stage: Rehearsal) -> None:
    class Mailer:
        def __init__(self, name: str) -> None:
            self.name = name
            self.sent: list[str] = []

        @stage.il.tool("irreversible")
        def send(self, to: str) -> str:
            self.sent.append(to)
            return f"{self.name} to {to}"

    mailer = Mailer("a")
    assert drive(stage, lambda: mailer.send("bob")) == "a to bob"
    assert mailer.sent == ["bob"]
    (action,) = stage.actions("job")
    view = stage.il.kernel.action(action.id)
    assert view is not None
    assert dict(view.current.arguments) == {"to": "bob"}
    assert str(inspect.signature(Mailer.send)) == "(self, to: str) -> str"
    assert Mailer("b").send.__self__.name == "b"  # type: ignore[attr-defined]


def test_classmethods_and_staticmethods_are_guarded_in_either_order_or_refused_with_the_mend(stage: Rehearsal) -> None:
    sent: list[str] = []

    class Mailer:
        @classmethod
        @stage.il.tool("irreversible")
        def from_class(cls, to: str) -> str:
            sent.append(f"{cls.__name__} {to}")
            return to

        @staticmethod
        @stage.il.tool("irreversible")
        def static(to: str) -> str:
            sent.append(to)
            return to

        @stage.il.tool("irreversible")
        @staticmethod
        def turned(to: str) -> str:
            sent.append(to)
            return to

    assert drive(stage, lambda: Mailer.from_class("ann"), "class") == "ann"
    assert drive(stage, lambda: Mailer().from_class("bob"), "instance") == "bob"
    assert drive(stage, lambda: Mailer.static("eve"), "static") == "eve"
    assert drive(stage, lambda: Mailer().static("joe"), "static of an instance") == "joe"
    assert drive(stage, lambda: Mailer.turned("kim"), "turned") == "kim"
    assert drive(stage, lambda: Mailer().turned("lee"), "turned of an instance") == "lee"
    assert sent == ["Mailer ann", "Mailer bob", "eve", "joe", "kim", "lee"]
    with pytest.raises(SettingsError, match="@classmethod"):

        class Other:
            @stage.il.tool("irreversible")
            @classmethod
            def turned(cls, to: str) -> str:
                return to


def test_bound_methods_partials_and_callable_objects_are_guarded(stage: Rehearsal) -> None:
    sent: list[str] = []

    class Mailer:
        def send(self, to: str, subject: str = "hi") -> str:
            sent.append(f"{to} {subject}")
            return to

        def __call__(self, to: str) -> str:
            sent.append(f"called {to}")
            return to

    mailer = Mailer()
    bound = stage.il.guard(mailer.send, reversibility="irreversible", name="bound")
    partial = stage.il.guard(functools.partial(mailer.send, subject="news"), reversibility="irreversible")
    called = stage.il.guard(mailer, reversibility="irreversible")
    assert drive(stage, lambda: bound("ann"), "bound") == "ann"
    assert drive(stage, lambda: partial("bob"), "partial") == "bob"
    assert drive(stage, lambda: called("eve"), "called") == "eve"
    assert sent == ["ann hi", "bob news", "called eve"]
    assert [tool.spec.name for tool in stage.il.guards.tools.values()] == ["bound", "send", "Mailer"]
    assert partial.__name__ == "send"  # type: ignore[attr-defined]
    assert called.__name__ == "Mailer"  # type: ignore[attr-defined]


def test_asynchronous_functions_methods_partials_and_objects_are_guarded(stage: Rehearsal) -> None:
    sent: list[str] = []

    class Mailer:
        @stage.il.tool("irreversible")
        async def send(self, to: str) -> str:
            sent.append(to)
            return to

        async def plain(self, to: str, subject: str) -> str:
            sent.append(f"{to} {subject}")
            return to

        async def __call__(self, to: str) -> str:
            sent.append(f"called {to}")
            return to

    mailer = Mailer()
    partial = stage.il.guard(functools.partial(mailer.plain, subject="news"), reversibility="irreversible")
    called = stage.il.guard(Mailer(), reversibility="irreversible", name="object")
    for key, call in (("method", mailer.send), ("partial", partial), ("object", called)):
        assert asyncio.iscoroutinefunction(call)
        assert drive(stage, lambda call=call: asyncio.run(call("bob")), key) == "bob"  # type: ignore[misc]
    assert sent == ["bob", "bob news", "called bob"]


def test_there_is_no_way_round_by_wrapped(stage: Rehearsal) -> None:
    def wrap(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return fn(*args, **kwargs)

        return inner

    def send(to: str) -> str:
        """Send it."""
        return to

    for fn in (send, wrap(send), wrap(wrap(send))):
        guarded = stage.il.guard(fn, reversibility="irreversible")
        assert not hasattr(guarded, "__wrapped__")
        assert inspect.unwrap(guarded) is guarded
        assert guarded.__name__ == "send"
        assert guarded.__doc__ == "Send it."
        assert str(inspect.signature(guarded)) == "(to: str) -> str"


def test_lists_and_dicts_are_guarded_and_what_nobody_declared_counts_as_irreversible(stage: Rehearsal) -> None:
    sent: list[str] = []

    def send(to: str) -> str:
        sent.append(to)
        return to

    def call(number: str) -> str:
        sent.append(number)
        return number

    listed = stage.il.guard([send, call])
    named = stage.il.guard({"mail": send, "phone": call}, reversibility="reversible")
    assert [tool.__name__ for tool in listed] == ["send", "call"]
    with stage.il.run("job") as run:
        named["phone"]("7")
        listed[0]("bob")
    assert (sent, run.status) == (["7"], "waiting")
    (card,) = stage.reviewer.open()
    assert "undeclared" in [reason.code for reason in card.about.action.ruling.reasons]
    assert set(stage.il.guards.tools) == {"send", "call", "mail", "phone"}
    assert [tool.__name__ for tool in stage.il.guard(iter([send]))] == ["send"]


def test_declarations_by_name_apply_and_clashes_are_refused(stage: Rehearsal) -> None:
    stage.il.declare(
        [
            {
                "name": "draft",
                "description": "Draft it.",
                "reversibility": "reversible",
                "interrupt_policy": "none",
                "parameters": {"type": "object"},
            }
        ]
    )

    @stage.il.tool()
    def draft(text: str) -> str:
        return text

    with stage.il.run("job") as run:
        assert draft("a") == "a"
    assert run.status == "finished"
    assert stage.il.guards.tools["draft"].spec.description == "Draft it."
    stage.il.declare([{"name": "send", "reversibility": "irreversible"}])
    with pytest.raises(SettingsError, match="declared_twice"):
        stage.il.guard(lambda to: to, name="send", reversibility="reversible")
    with pytest.raises(SettingsError, match="declared_late"):
        stage.il.declare([{"name": "draft", "reversibility": "irreversible"}])


@pytest.mark.parametrize(
    ("keywords", "code"),
    [
        ({"reversability": "irreversible"}, "unknown_keyword"),
        ({"reversibility": "sometimes"}, "bad_reversibility"),
        ({"interrupt_policy": "maybe"}, "bad_interrupt_policy"),
        ({"reach": "everywhere"}, "bad_reach"),
        ({"cost": "much"}, "bad_cost"),
        ({"cost": -1}, "bad_cost"),
        ({"expires_in": "soon"}, "bad_duration"),
        ({"expires_in": 0}, "bad_duration"),
        ({"approval_valid_for": True}, "bad_duration"),
        ({"no_effect_on": "ValueError"}, "bad_no_effect_on"),
        ({"idempotency_key": "nothing", "idempotent": True}, "no_such_parameter"),
        ({"occurrence_key": "nothing"}, "no_such_parameter"),
        ({"confidence_threshold": 7.0}, "bad_threshold"),
    ],
)
def test_a_declaration_that_does_not_fit_is_one_line_with_a_code_and_the_mend(
    stage: Rehearsal, keywords: dict[str, Any], code: str
) -> None:
    with pytest.raises(SettingsError) as error:
        stage.il.guard(lambda to: to, **{"name": "send", "reversibility": "irreversible", **keywords})
    assert error.value.code == code
    assert error.value.mend
    assert "\n" not in str(error.value)
    assert stage.il.guards.tools == {}


@pytest.mark.parametrize("odd", [None, 7, "send", b"send", {"a": 7}, [7]])
def test_what_is_not_callable_is_refused(stage: Rehearsal, odd: Any) -> None:
    with pytest.raises(SettingsError, match="not_callable"):
        stage.il.guard(odd)


@pytest.mark.parametrize("odd", [{"name": "send"}, "send", [{}], [{"name": 7}], [7], None])
def test_declarations_that_are_none_are_refused(stage: Rehearsal, odd: Any) -> None:
    with pytest.raises(SettingsError, match="bad_declaration"):
        stage.il.declare(odd)


def test_the_decorator_without_a_word_about_reversibility_says_what_is_missing(stage: Rehearsal) -> None:
    with pytest.raises(SettingsError, match="missing_reversibility"):

        @stage.il.tool  # type: ignore[arg-type]
        def send(to: str) -> str:
            return to


def test_streams_are_refused_when_they_are_declared(stage: Rehearsal) -> None:
    def numbers() -> Any:
        yield 1

    async def later() -> Any:
        yield 1

    for fn in (numbers, later):
        with pytest.raises(SettingsError, match="generator"):
            stage.il.guard(fn, reversibility="reversible")


def test_an_edit_meets_the_validators_of_the_tool_in_its_own_process(stage: Rehearsal) -> None:
    from typing import Annotated

    from pydantic import AfterValidator

    paid: list[int] = []

    def clamp(amount: int) -> int:
        return min(amount, 50)

    @stage.il.tool("irreversible")
    def pay(amount: Annotated[int, AfterValidator(clamp)]) -> int:
        paid.append(amount)
        return amount

    with stage.il.run("job"):
        pay(100)
    (card,) = stage.reviewer.open()
    assert dict(card.about.current.arguments) == {"amount": 50}
    stage.reviewer.decide(modify(amount=70))
    with pytest.raises(Exception, match="no longer fit"), stage.il.run("job"):
        pay(100)
    assert (paid, stage.states("job")) == ([], ["failed"])


def test_two_interlocks_may_have_tools_of_the_same_name() -> None:
    with Rehearsal(agent="a") as one, Rehearsal(agent="b") as two:
        for stage in (one, two):
            stage.il.guard(lambda: 1, name="task", reversibility="reversible")
        assert isinstance(two.il, Interlock)
        assert one.il.guards.tools["task"] is not two.il.guards.tools["task"]
