"""What is guarded already is known for certain, and nothing that is said of it later is lost."""

import functools
from collections.abc import Callable
from typing import Any
from xmlrpc.client import ServerProxy

import pytest

from interlock.domain.errors import CallError, SettingsError
from interlock.testing import Rehearsal


class Proxy:
    """An object that has every attribute one asks for."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__interlock__", "__name__", "__qualname__", "__guarded__"):
            raise AttributeError(name)
        return Proxy()

    def __call__(self, to: str) -> str:
        self.sent.append(to)
        return to


@pytest.fixture
def send(stage: Rehearsal) -> Callable[[str], str]:
    @stage.il.tool("irreversible", cost=5)
    def send(to: str) -> str:
        return to

    return send


def test_an_object_that_has_every_attribute_is_guarded_like_any_other(stage: Rehearsal) -> None:
    proxy = Proxy()
    guarded = stage.il.guard(proxy)
    with stage.il.run("job") as run:
        guarded("bob")
    assert (run.status, proxy.sent, guarded.__name__) == ("waiting", [], "Proxy")
    assert stage.il.guards.tools["Proxy"].spec.target.endswith(":Proxy")


def test_a_proxy_whose_signature_cannot_be_read_is_refused_and_not_let_through(stage: Rehearsal) -> None:
    with pytest.raises(SettingsError, match="not_storable"):
        stage.il.guard(ServerProxy("http://localhost:1").pay)


def test_attributes_copied_from_a_guarded_function_guard_nothing(stage: Rehearsal, send: Callable[[str], str]) -> None:
    sent: list[str] = []

    def mail(to: str) -> str:
        sent.append(to)
        return to

    vars(mail).update(vars(send))
    vars(mail)["__interlock__"] = "made up"
    with stage.il.run("job") as run:
        stage.il.guard(mail)("bob")
    assert (run.status, sent) == ("waiting", [])
    for made_up in (mail, Proxy(), "nothing"):
        with pytest.raises(SettingsError, match="unknown_tool"):
            stage.il.schema(made_up)
    with pytest.raises(CallError, match="not_guarded"):
        stage.il.observed_pause("approve", {"to": "bob"}, tool=mail)


def test_a_wrapper_around_a_guarded_function_is_refused_unless_it_is_composite(
    stage: Rehearsal, send: Callable[[str], str]
) -> None:
    @functools.wraps(send)
    def logged(to: str) -> str:
        return send(to)

    with pytest.raises(SettingsError, match="guarded_inside"):
        stage.il.guard(logged)
    assert stage.il.guard(logged, name="logged", composite=True) is not logged


def test_guarding_again_with_nothing_new_gives_the_same_function(stage: Rehearsal, send: Callable[[str], str]) -> None:
    assert stage.il.guard(send) is send
    assert stage.il.guard([send])[0] is send
    assert stage.il.guard({"send": send})["send"] is send
    assert stage.il.guard(send, cost=5, interrupt_policy=None) is send  # type: ignore[arg-type]
    assert stage.il.tool("irreversible")(send) is send
    assert list(stage.il.guards.tools) == ["send"]


@pytest.mark.parametrize(
    "more",
    [
        {"interrupt_policy": "deny"},
        {"reversibility": "reversible"},
        {"sensitive": "to"},
        {"name": "mail"},
        {"cost": 6},
    ],
)
def test_guarding_again_with_something_new_is_refused(
    stage: Rehearsal, send: Callable[[str], str], more: dict[str, Any]
) -> None:
    for given in (send, [send], {"send": send}):
        with pytest.raises(SettingsError, match="guarded_twice") as error:
            stage.il.guard(given, **more)
        assert error.value.mend


def test_a_decorator_over_a_decorator_that_says_something_else_is_refused(stage: Rehearsal) -> None:
    with pytest.raises(SettingsError, match="reversibility='reversible' and not 'irreversible'"):

        @stage.il.tool("irreversible")
        @stage.il.tool("reversible")
        def send(to: str) -> str:
            return to


def test_a_guarded_function_takes_no_second_name_and_no_unknown_keyword(
    stage: Rehearsal, send: Callable[[str], str]
) -> None:
    stage.il.declare([{"name": "mail", "interrupt_policy": "deny"}])
    with pytest.raises(SettingsError, match="guarded_twice"):
        stage.il.guard({"mail": send})
    with pytest.raises(SettingsError, match="unknown_keyword"):
        stage.il.guard(send, interupt_policy="deny")  # type: ignore[call-overload]


def test_methods_are_known_to_be_guarded_by_way_of_their_instances(stage: Rehearsal) -> None:
    class Mailer:
        @stage.il.tool("irreversible")
        def send(self, to: str) -> str:
            return to

        @classmethod
        @stage.il.tool("irreversible")
        def turn(cls, to: str) -> str:
            return to

    mailer = Mailer()
    assert stage.il.guard(mailer.send) == mailer.send
    assert stage.il.guard(Mailer.turn) == Mailer.turn
    assert stage.il.schema(mailer.send) == stage.il.schema("send")
    with pytest.raises(SettingsError, match="guarded_twice"):
        stage.il.guard(mailer.send, interrupt_policy="deny")


def test_a_function_that_another_interlock_guards_is_refused(send: Callable[[str], str]) -> None:
    with Rehearsal(agent="b") as other, pytest.raises(SettingsError, match="guarded_elsewhere"):
        other.il.guard(send)
