"""Exceptions are stored as data and made again only where that is certain."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest

from interlock.schema import decode_exception, encode_exception


class PaymentError(Exception):
    def __init__(self, code: int, when: datetime) -> None:
        super().__init__(code, when)
        self.code = code

    def __str__(self) -> str:
        return f"payment failed with {self.code}"


class Nested:
    class Error(ValueError):
        pass


class Fussy(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(f"fussy {message}")


class Needy(Exception):
    def __init__(self, message: str, *, response: object) -> None:
        super().__init__(message)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Shifting(Exception):
    def __new__(cls, *args: object) -> Any:
        return ValueError(*args)


class Stop(BaseException):
    pass


def there_and_back(exc: BaseException, *known: type[BaseException]) -> Exception | None:
    return decode_exception(json.loads(json.dumps(encode_exception(exc))), known)


@pytest.fixture(autouse=True)
def this_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, module := ModuleType(__name__))
    vars(module).update(globals())


WHEN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("no"),
        KeyError("key"),
        Exception(),
        ValueError(1, (2, b"x"), {"a": WHEN}),
        PaymentError(402, WHEN),
        Nested.Error("x"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        OSError(2, "No such file"),
    ],
    ids=repr,
)
def test_an_exception_is_made_again(exc: Exception) -> None:
    made = there_and_back(exc)
    assert made is not None
    assert type(made) is type(exc)
    assert (str(made), made.args) == (str(exc), exc.args)


def test_a_long_message_is_cut_where_it_is_shown_and_whole_when_made_again() -> None:
    tree: Any = encode_exception(ValueError("x" * 10_000))
    assert tree["message"] == "x" * 4095 + "…"
    assert str(decode_exception(tree)) == "x" * 10_000


def test_the_form_is_frozen() -> None:
    assert encode_exception(ValueError("no", 1.5)) == {
        "type": "builtins:ValueError",
        "message": "('no', 1.5)",
        "args": ["no", {"$t": "float", "v": "1.5"}],
        "state": {},
    }


def with_attribute() -> Exception:
    error = ValueError("x")
    error.response = "lost"  # pyright: ignore[reportAttributeAccessIssue] - as libraries do
    return error


@pytest.mark.parametrize(
    "exc",
    [
        ValueError(object()),
        Fussy("x"),
        Needy("x", response=1),
        OSError(2, "No such file", "x.txt"),
        ExceptionGroup("several", [ValueError()]),
        with_attribute(),
        Unprintable(object()),
        KeyboardInterrupt(),
        Stop("x"),
    ],
    ids=lambda exc: type(exc).__name__,
)
def test_what_would_not_be_the_same_is_not_made_again(exc: BaseException) -> None:
    assert there_and_back(exc) is None
    tree: Any = encode_exception(exc)
    assert len(tree["message"]) <= 4096
    assert tree["type"].endswith(f":{type(exc).__qualname__}")


def test_notes_do_not_stand_in_the_way() -> None:
    error = ValueError("x")
    error.add_note("seen")
    assert there_and_back(error) is not None


def test_a_message_that_cannot_be_printed_is_replaced() -> None:
    tree: Any = encode_exception(Unprintable())
    assert tree["message"] == "<Unprintable without a message>"
    surrogate: Any = encode_exception(ValueError("\ud800"))
    assert (surrogate["message"], surrogate["args"]) == ("\\ud800", None)


def test_a_local_class_is_made_again_only_if_it_is_known() -> None:
    class Local(Exception):
        pass

    assert there_and_back(Local("x")) is None
    made = there_and_back(Local("x"), ValueError, Local)
    assert type(made) is Local


def described(name: object, args: object = ()) -> object:
    return {"type": name, "message": "", "args": [*args] if isinstance(args, tuple) else args, "state": {}}


@pytest.mark.parametrize(
    "tree",
    [
        None,
        [],
        {},
        described(1),
        described("builtins:ValueError", None),
        described("builtins:ValueError", 5),
        described("builtins:ValueError", ({"$t": "model", "v": []},)),
        described("builtins:print"),
        described("builtins:int"),
        described("builtins:SystemExit"),
        described("builtins:ValueError.args"),
        described("builtins:ValueError.args.x"),
        described("json.nowhere:Error"),
        described("ValueError"),
        described("antigravity:Error"),
        described(f"{__name__}:Shifting"),
        {**described("builtins:ValueError"), "message": "other"},  # pyright: ignore[reportGeneralTypeIssues]
    ],
    ids=str,
)
def test_whatever_is_not_certain_is_none(tree: object) -> None:
    assert decode_exception(tree) is None
    assert "antigravity" not in sys.modules


def test_a_module_is_not_asked_for_names_that_it_would_have_to_make(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = ModuleType("lazy")

    def make(name: str) -> object:
        raise AssertionError(name)

    lazy.__getattr__ = make  # pyright: ignore[reportAttributeAccessIssue] - as PEP 562 has it
    monkeypatch.setitem(sys.modules, "lazy", lazy)
    assert decode_exception(described("lazy:Error")) is None
