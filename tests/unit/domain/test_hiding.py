"""What stands in for sensitive arguments: it says what they are and how long, and nothing by which to guess them."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.domain.hiding import STAND_IN, find, hide, holds_hidden, is_hidden, secrets_of, veiled, veiled_tree

MODEL = {"$t": "model", "v": ["Customer", {"name": "Ana", "card": {"$t": "model", "v": ["Card", {"pin": "1234"}]}}]}


def shown(tree: Any, path: str = "x", key: bytes = b"") -> Any:
    return hide({"x": tree}, [path], key)["x"]


@pytest.mark.parametrize(
    ("tree", "size"),
    [
        ("4111111111111111", "16 characters"),
        ("4", "1 character"),
        (True, "yes or no"),
        (12, "number"),
        ({"$t": "int", "v": "99999999999999999999"}, "number"),
        ({"$t": "decimal", "v": "1.50"}, "number"),
        ({"$t": "bytes", "v": "AAEC"}, "3 bytes"),
        ({"$t": "blob", "v": ["sha-256:x", 70000, "text/plain"]}, "70,000 bytes"),
        ([1, 2], "2 items"),
        ({"$t": "set", "v": ["a"]}, "1 item"),
        ({"$t": "map", "v": [[1, 2]]}, "1 item"),
        ({"a": 1}, "1 field"),
        (MODEL, "Customer"),
        ({"$t": "enum", "v": ["Kind", "A"]}, "Kind"),
        ({"$t": "date", "v": "2026-01-01"}, "date"),
    ],
)
def test_a_stand_in_says_what_it_is_and_how_long(tree: Any, size: str) -> None:
    assert shown(tree) == {"$t": "hidden", "v": f"[hidden · {size}]"}


def test_nothing_stays_nothing() -> None:
    assert shown(None) is None


def test_an_argument_that_is_not_named_or_not_there_is_left_alone() -> None:
    arguments: dict[str, Any] = {"x": "a", "y": "b"}
    assert hide(arguments, ["z", "z.a"]) == arguments
    assert hide(arguments, ["y"])["x"] == "a"
    assert arguments == {"x": "a", "y": "b"}


@pytest.mark.parametrize(
    ("tree", "path", "inside"),
    [
        (MODEL, "x.card.pin", ("v", 1, "card", "v", 1, "pin")),
        ({"card": {"pin": "1234"}}, "x.card.pin", ("card", "pin")),
        ([{"pin": "1"}, {"pin": "1234"}], "x.pin", (1, "pin")),
        ({"$t": "tuple", "v": [{"pin": "1234"}]}, "x.pin", ("v", 0, "pin")),
        ({"$t": "map", "v": [["other", 1], ["pin", "1234"]]}, "x.pin", ("v", 1, 1)),
    ],
)
def test_a_path_leads_into_what_holds_it(tree: Any, path: str, inside: tuple[str | int, ...]) -> None:
    found: Any = shown(tree, path)
    assert holds_hidden(found)
    assert not is_hidden(found)
    for step in inside:
        found = found[step]
    assert is_hidden(found)
    assert "1234" in find({"x": tree}, path)
    assert holds_hidden([found])


def test_what_has_another_form_than_the_path_expects_is_hidden_whole() -> None:
    for tree in ("text", 7, {"$t": "blob", "v": ["d", 70000, "t"]}, {"$t": "enum", "v": ["Kind", "A"]}):
        assert is_hidden(shown(tree, "x.card.pin"))
        assert find({"x": tree}, "x.card.pin") == []


def test_a_name_that_is_not_there_hides_nothing_and_finds_nothing() -> None:
    assert shown({"a": 1}, "x.b") == {"a": 1}
    assert find({"x": {"a": 1}}, "x.b") == find({"x": {"a": 1}}, "y") == find({"x": MODEL}, "x.other") == []
    assert find({"x": {"$t": "map", "v": [["a", 1]]}}, "x.b") == []
    assert find({"x": {"$t": "hidden", "v": "v"}}, "x.v") == []


def test_what_is_hidden_already_stays_as_it_is() -> None:
    once = hide({"x": {"pin": "1"}}, ["x.pin", "x"], b"key")
    assert hide(once, ["x"], b"other") == once


def test_equal_values_look_equal_under_one_key_and_under_no_other() -> None:
    first, second, third = (hide({"x": "1234", "y": "1234", "z": "1235"}, ["x", "y", "z"], b"key")[n] for n in "xyz")
    assert first == second != third
    assert shown("1234", key=b"key2") != first


@given(st.text(max_size=30), st.binary(min_size=1, max_size=16))
def test_a_stand_in_is_known_as_one_and_holds_nothing_of_the_value(text: str, key: bytes) -> None:
    said = shown(text, key=key)["v"]
    assert STAND_IN.fullmatch(said)
    assert not any(a + b in said for a, b in pairwise(text) if not (a + b).isascii())


def test_nothing_is_hidden_in_plain_values() -> None:
    assert not holds_hidden({"a": [1, "b", None]})


@pytest.mark.parametrize(
    ("tree", "text", "said"),
    [
        ("4111-1111", "card 4111-1111 was declined", "card [hidden] was declined"),
        (["first", {"b": "second"}], "first, then second", "[hidden], then [hidden]"),
        ({"$t": "decimal", "v": "1234.50"}, "a decimal of 1234.50", "a decimal of [hidden]"),
        (123456, "account 123456", "account [hidden]"),
        ([True, None, "abc", 12], "True None abc 12", "True None abc 12"),
        (["long", "longer still"], "longer still", "[hidden]"),
        ("two\nlines", "got 'two\\nlines' or two\nlines", "got '[hidden]' or [hidden]"),
    ],
)
def test_what_code_says_of_a_call_shows_no_sensitive_value_that_is_long_enough_to_be_one(
    tree: Any, text: str, said: str
) -> None:
    assert veiled(text, {"x": tree, "y": "said"}, ["x"]) == said


def test_what_code_leaves_behind_shows_no_secret_anywhere_in_it() -> None:
    secrets = secrets_of({"card": "4111-1111", "pin": 87310, "note": "said"}, ["card", "pin"])
    left: Any = ["card 4111-1111", 87310, True, None, 7, {"$t": "map", "v": [["4111-1111", 1]], "87310": "x"}]
    shown: Any = ["card [hidden]", "[hidden]", True, None, 7, {"$t": "map", "v": [["[hidden]", 1]], "[hidden]": "x"}]
    assert veiled_tree(left, secrets) == shown
