"""Values as people read them: real types, everything in them, nothing that can pose as something else."""

from typing import Any

import pytest

from interlock.cards.values import disguised, impostor, literal, pretty, texts, value_of
from interlock.cards.words import clock, count, label, span, verb, who


@pytest.mark.parametrize(
    ("tree", "kind", "whole"),
    [
        ("a\nb", "text", "a\nb"),
        (True, "bool", "true"),
        (7, "int", "7"),
        (None, "nothing", "null"),
        ({"$t": "int", "v": "9007199254740993"}, "int", "9007199254740993"),
        ({"$t": "float", "v": "1.0"}, "float", "1.0"),
        ({"$t": "decimal", "v": "5.00"}, "Decimal", "5.00"),
        ({"$t": "datetime", "v": "2026-06-09T13:00:00+00:00"}, "datetime", "2026-06-09T13:00:00+00:00"),
        ({"$t": "bytes", "v": "AP8"}, "bytes", "2 bytes: 00ff"),
        ({"$t": "uuid", "v": "x"}, "UUID", "x"),
        ({"$t": "secret", "v": ["env://KEY"]}, "secret", "a reference: env://KEY"),
        ({"$t": "enum", "v": ["Colour", "RED"]}, "Colour", "Colour.RED"),
        ({"$t": "model", "v": ["Booking", {"room": "A", "price": {"$t": "decimal", "v": "5"}}]}, "Booking",
         'Booking(room="A", price=Decimal("5"))'),
        ({"$t": "tuple", "v": [1, "b"]}, "tuple", 'tuple(1, "b")'),
        ({"$t": "map", "v": [[1, 2]]}, "map", "map([1, 2])"),
        ([1, [2, {"$t": "float", "v": "0.5"}]], "list", "[1, [2, 0.5]]"),
        ({"a": {"b": None}}, "object", '{"a": {"b": null}}'),
        ([], "list", "[]"),
    ],
)  # fmt: skip
def test_every_type_has_its_name_and_all_of_its_value(tree: Any, kind: str, whole: str) -> None:
    value = value_of("x", tree)
    assert (value.kind, value.whole, value.folded) == (kind, whole, False)


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ("word " * 100, "500 characters"),
        ("line\n" * 10, "60 characters, 11 lines"[3:]),
        ({"$t": "bytes", "v": "A" * 1000}, "750 bytes"),
        ({"$t": "int", "v": "9" * 300}, "300 characters"),
        (list(range(200)), "200 items"),
        ({"$t": "model", "v": ["Big", {f"field{n}": "x" * 20 for n in range(30)}]}, "30 fields"),
        ({"$t": "blob", "v": ["sha-256:abc", 70000, "text/plain"]}, "70,000 bytes, kept apart"),
    ],
)
def test_what_is_long_is_folded_and_says_how_long(tree: Any, says: str) -> None:
    value = value_of("x", tree)
    assert value.folded
    assert says in str(value.short)
    assert len(str(value.short)) < 160


def test_a_long_value_is_laid_out_line_by_line_without_losing_anything() -> None:
    tree: Any = {
        "list": [{"sku": f"A-{n}", "note": "x" * 30} for n in range(3)],
        "model": {"$t": "model", "v": ["Order", {"lines": ["y" * 40, "z" * 40], "empty": []}]},
        "pair": {"$t": "tuple", "v": ["p" * 40, "q" * 40]},
    }
    lines = list(pretty(tree))
    assert len(lines) > 8
    joined = "".join(line.strip() for line in lines)
    for text in texts(tree):
        assert text in joined
    assert lines[0] == "{"
    assert lines[-1] == "}"


def test_a_nested_blob_says_its_size() -> None:
    assert literal({"$t": "blob", "v": ["sha-256:x", 70000, "text/plain"]}) == "(70000 bytes, kept apart)"


def test_names_that_say_secret_mask_their_values_and_no_others() -> None:
    assert "hunter2" not in value_of("password", "hunter2hunter2").whole
    assert "hunter2" not in value_of("password", "hunter2hunter2" * 30).whole
    assert value_of("to", "hunter2hunter2").whole == "hunter2hunter2"


def test_ordinary_line_breaks_and_tabs_are_no_disguise() -> None:
    assert disguised("a\tb\r\nc") == 0
    assert disguised("a\u202eb\u200bc" + " " * 20) == 3


def test_prose_is_not_taken_for_a_look_alike_name() -> None:
    assert impostor("Grüße \u2013 bis bald") is None
    assert impostor("ap@ex\u0430mple.com") is not None


def test_words_for_times_and_names() -> None:
    from datetime import UTC, datetime, timedelta

    spans = [5, 65, 3600, 3900, 86400, 90000, 5 * 86400, -3]
    said = [span(timedelta(seconds=each)) for each in spans]
    assert said == ["5 s", "1 min", "1 h", "1 h 5 min", "1 day", "1 day 1 h", "5 days", "0 s"]
    now = datetime(2026, 6, 9, 12, 0, tzinfo=UTC)
    assert clock(now + timedelta(days=1), now).startswith("tomorrow ")
    assert clock(now - timedelta(days=3), now).startswith("6 Jun ")
    assert "2025" in clock(now - timedelta(days=300), now)
    assert [verb(name) for name in ("send_email", "mail.sendEmail", "HTTPGet", "payments/transfer")] == [
        "Send email",
        "Send email",
        "HTTPGet",
        "Transfer",
    ]
    assert label("invoice_id") == "Invoice id"
    assert label("") == "(empty)"
    assert who("executor:123") == "a worker"
    assert who("policy") == "policy"
    assert count(1, "process", "processes") == "1 process"
