from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.display import look_alike
from interlock.display.lookalikes import (
    _IMPOSTORS,  # pyright: ignore[reportPrivateUsage]
    _SIMILAR,  # pyright: ignore[reportPrivateUsage]
    _TWINS,  # pyright: ignore[reportPrivateUsage]
)


@pytest.mark.parametrize(
    ("name", "reading", "punycode", "reason"),
    [
        ("p\u0430ypal.com", "paypal.com", "xn--pypal-4ve.com", "mixes scripts"),
        ("\u0430\u0440\u0440\u04cf\u0435.com", "apple.com", "xn--80ak6aa92e.com", "every letter"),
        ("xn--80ak6aa92e.com", "apple.com", "xn--80ak6aa92e.com", "every letter"),
        ("ap@ex\u0430mple.com", "ap@example.com", "ap@xn--exmple-4nf.com", "mixes scripts"),
        ("\uff50\uff41ypal.com", "paypal.com", "paypal.com", "styled forms"),
        ("\U0001d429aypal", "paypal", "paypal", "styled forms"),
        ("\u212aelvin", "Kelvin", "kelvin", "styled forms"),
        ("evil\u3002com", "evil.com", "evil.com", "pass for plain ones"),
        ("example.com\u2215login", "example.com/login", "example.xn--comlogin-0f7d", "pass for plain ones"),
        ("paypa\u0131", "paypai", "xn--paypa-r4a", "pass for plain ones"),
        ("pay\u200bpal", "paypal", "paypal", "invisible"),
        ("pay\ud800pal", "paypal", "paypal", "invisible"),
        ("payments.tr\u03b1nsfer", "payments.transfer", "payments.xn--trnsfer-", "mixes scripts"),
        ("\u0441\u043e\u0440", "cop", "xn--n1aeb", "every letter"),
        ("a\u0661", "a1", "xn--a-", "mixes scripts"),
        ("p\u0456\u0436", "pi?", "xn--p-", "mixes scripts"),
        ("\u043a\u4e2d", "k?", "xn--", "mixes scripts"),
        ("p\u00e1yp\u0430l", "paypal", "xn--pypl-", "mixes scripts"),
        ("\u0441\u0451\u0440", "cep", "xn--", "every letter"),
    ],
)
def test_names_that_pass_for_others_are_flagged(name: str, reading: str, punycode: str, reason: str) -> None:
    found = look_alike(name)
    assert found is not None
    assert found.text == name
    assert found.ascii == reading
    assert found.punycode.startswith(punycode)
    assert reason in found.reason
    assert found.letters


@pytest.mark.parametrize(
    "name",
    [
        "payments.transfer",
        "example.com",
        "paypa1.com",
        "m\u00fcnchen.de",
        "xn--mnchen-3ya.de",
        "xn--.com",
        "xn--\u00fc.de",
        "xn--" + "a" * 80,
        "caf\u00e9_create",
        "\u043f\u0440\u0438\u043c\u0435\u0440.com",
        "\u043a\u0443\u0440\u0441_usd",
        "\u03b5\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac",
        "\u6771\u4eactower",
        "\ud55c\uad6d\uc5b4-api",
        "\u3072\u3089\u30ab\u30ca",
        "\u0939\u093f\u0928\u094d\u0926\u0940.com",
        "\u0661\u0662\u0663",
        "o\u02bcneil",
        "\U0001f680deploy",
        "",
    ],
)
def test_honest_names_are_not_flagged(name: str) -> None:
    assert look_alike(name) is None


def test_the_characters_at_fault_are_named_once_each() -> None:
    found = look_alike("p\u0430yp\u0430l\u200b")
    assert found is not None
    assert found.letters == ("U+0430 CYRILLIC SMALL LETTER A", "U+200B ZERO WIDTH SPACE")
    assert found.reason == "mixes scripts; invisible characters"


def test_the_tables_map_one_foreign_character_to_one_ascii_character() -> None:
    assert not _TWINS.keys() & _IMPOSTORS.keys()
    assert not _SIMILAR.keys() & (_TWINS.keys() | _IMPOSTORS.keys())
    for table in (_TWINS, _IMPOSTORS, _SIMILAR):
        for character, reading in table.items():
            assert not character.isascii()
            assert reading.isascii()
            assert reading.isprintable()


@given(st.text(st.characters(), max_size=80))
def test_what_is_shown_beside_a_flagged_name_is_printable_ascii(name: str) -> None:
    found = look_alike(name)
    if found is not None:
        for shown in (found.ascii, found.punycode, found.reason, *found.letters):
            assert shown.isascii()
            assert shown.isprintable()


def test_a_name_of_any_length_is_answered_soon() -> None:
    started = time.perf_counter()
    found = look_alike("p\u0430" * 30_000)
    assert found is not None
    assert found.punycode == "?"
    assert time.perf_counter() - started < 5.0  # seconds
