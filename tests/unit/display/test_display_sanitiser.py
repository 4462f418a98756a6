from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.display import Span, is_clean, plain, spans, truncated

if TYPE_CHECKING:
    from collections.abc import Iterator

ZWJ, VS16 = "\u200d", "\ufe0f"

# Written out from DerivedCoreProperties.txt, not from the code under test.
DEFAULT_IGNORABLE = {
    *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFF9),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE1000),
}
BLANKS = {0x2800, 0xFFFC}
EMOJI = re.compile(
    "[0-9#*]\ufe0f\u20e3|[\u00a9-\u3299\U0001f000-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]?"
    "(?:\u200d[\u00a9-\u3299\U0001f000-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]?)*"
)


def is_forbidden(character: str) -> bool:
    code, category = ord(character), unicodedata.category(character)
    return (
        category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        or (category == "Zs" and character not in " \u00a0\u202f\u3000")
        or code in DEFAULT_IGNORABLE
        or code in BLANKS
    )


def strip_emoji(text: str) -> str:
    """Take out emoji, but only joiners and selectors that really are inside one."""
    return EMOJI.sub(lambda match: match[0].replace(ZWJ, "").replace(VS16, ""), text)


PIECES = [
    *"a1 #\n\r\t\x00\x1b\x9b\u0301\u20e3\u200b\u200d\ufe0f\u202e\u2066\u2028\U000e0041\u3164\u2800",
    *"\ue000\ud800\U0001f600\U0001f8ff\u2764\u2139\u23ce\u27e8\u2022\u00a0\u3000\u0939\u093f",
    *("sk-aaaaaaaaaaaaaaaaaaa1", "password=", "\r\n", " " * 9, "\n" * 9, "[31m"),
]
nasty = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=40).map("".join)


@given(nasty | st.text(st.characters()), st.booleans(), st.none() | st.integers(0, 60))
def test_nothing_hidden_ever_comes_out(text: str, multiline: bool, limit: int | None) -> None:
    shown = plain(text, multiline=multiline, limit=limit)
    left = strip_emoji(shown.replace("\n", "") if multiline else shown)
    assert [c for c in left if is_forbidden(c)] == []
    shown.encode()  # no lone surrogate either


def blocks() -> Iterator[list[str]]:
    """All assigned characters and a sixteenth of the others, in blocks of 4,096."""
    for start in range(0, 0x110000, 0x1000):
        characters = map(chr, range(start, start + 0x1000))
        yield [c for c in characters if ord(c) % 16 == 0 or unicodedata.category(c) not in ("Cn", "Co", "Cs")]


def test_no_character_of_unicode_is_hidden() -> None:
    for block in blocks():
        left = strip_emoji(plain("a".join(block)))
        assert [hex(ord(c)) for c in left if is_forbidden(c)] == []


def test_every_letter_and_digit_of_unicode_stays() -> None:
    fillers = "\u115f\u1160\u3164\uffa0"
    for block in blocks():
        letters = "".join([c for c in block if c.isalnum() and c not in fillers])
        assert plain(letters) == letters


@given(nasty)
def test_spans_are_never_two_texts_in_a_row_and_only_text_goes_unexplained(text: str) -> None:
    found = spans(text)
    assert all(span.text for span in found)
    assert all(bool(span.meaning) == (span.kind != "text") for span in found)
    kinds = [span.kind for span in found]
    assert ("text", "text") not in list(pairwise(kinds))
    assert plain(text) == "".join(span.text for span in found)


@given(nasty, st.booleans())
def test_clean_text_is_shown_as_it_is(text: str, multiline: bool) -> None:
    if is_clean(text, multiline=multiline):
        assert plain(text, multiline=multiline) == text.replace("\r\n", "\n")


@given(nasty, st.integers(0, 80), st.booleans())
def test_truncation_is_told_and_keeps_to_the_limit(text: str, limit: int, multiline: bool) -> None:
    whole, shown = plain(text, multiline=multiline), plain(text, multiline=multiline, limit=limit)
    assert truncated(text, limit) == (len(whole) > limit)
    if truncated(text, limit):
        marker = f"\u2026 ({len(text):,} characters)"
        assert shown.endswith(marker)
        kept = shown.removesuffix(marker)
        assert len(kept) <= limit
        assert whole.startswith(kept)
    else:
        assert shown == whole


@pytest.mark.parametrize(
    ("character", "token"),
    [
        ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\u2066", "U+2066 LEFT-TO-RIGHT ISOLATE"),
        ("\u200b", "U+200B ZERO WIDTH SPACE"),
        ("\u200d", "U+200D ZERO WIDTH JOINER"),
        ("\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("\u00ad", "U+00AD SOFT HYPHEN"),
        ("\x1b", "U+001B ESCAPE"),
        ("\x00", "U+0000 NULL"),
        ("\x01", "U+0001 CONTROL"),
        ("\x9b", "U+009B CONTROL SEQUENCE INTRODUCER"),
        ("\r", "U+000D CARRIAGE RETURN"),
        ("\t", "U+0009 TAB"),
        ("\ufe0f", "U+FE0F VARIATION SELECTOR-16"),
        ("\U000e0100", "U+E0100 VARIATION SELECTOR-17"),
        ("\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A"),
        ("\u3164", "U+3164 HANGUL FILLER"),
        ("\u2800", "U+2800 BRAILLE PATTERN BLANK"),
        ("\u2028", "U+2028 LINE SEPARATOR"),
        ("\u2029", "U+2029 PARAGRAPH SEPARATOR"),
        ("\u2003", "U+2003 EM SPACE"),
        ("\ue000", "U+E000 PRIVATE USE"),
        ("\U0010fffe", "U+10FFFE UNASSIGNED"),
        ("\ud800", "U+D800 SURROGATE"),
        ("\u23ce", "U+23CE RETURN SYMBOL"),
        ("\u27e8", "U+27E8 MATHEMATICAL LEFT ANGLE BRACKET"),
    ],
)
@pytest.mark.parametrize("multiline", [False, True])
def test_characters_that_hide_are_spelled_out(character: str, token: str, multiline: bool) -> None:
    shown = spans(f"a{character}b", multiline=multiline)
    assert [span.kind for span in shown] == ["text", "token", "text"]
    assert shown[1].text == f"\u27e8{token}\u27e9"
    assert shown[1].meaning


@pytest.mark.parametrize(
    ("character", "words"),
    [
        ("\u202e", "direction"),
        ("\U000e0041", "tag"),
        ("\U000e0100", "selector"),
        ("\t", "tab"),
        ("\u27e9", "Interlock writes itself"),
        ("\u3164", "invisible character"),
        ("\u200b", "invisible character"),
        ("\x1b", "control character"),
        ("\ud800", "half of a character"),
    ],
)
def test_the_meaning_of_a_token_is_in_plain_words(character: str, words: str) -> None:
    assert words in spans(character)[0].meaning


def test_runs_of_the_same_character_are_counted_in_one_token() -> None:
    assert plain("a" + "\u200b" * 1200) == "a\u27e81,200 \u00d7 U+200B ZERO WIDTH SPACE\u27e9"
    assert len(spans("\u200b\u200c\u200b")) == 3


def test_no_text_can_pose_as_a_token_or_a_mask() -> None:
    assert not is_clean("\u27e8300 spaces\u27e9")
    assert not is_clean("\u2022\u2022\u2022\u2022(sha256 ab12cd34)")
    assert is_clean("\u2022 one\u2022\u2022 two \u2022\u2022\u2022")


@pytest.mark.parametrize(
    "text",
    [
        "plain words, 100 % ASCII: ~`!@#$%^&*()_+",
        "caf\u00e9 cafe\u0301 na\u00efve 10\u00a0000\u202f\u20ac",
        "\u4e2d\u6587\u3000\u3068\u304b\u306a\u3001\ud55c\uad6d\uc5b4",
        "\u0627\u0644\u0639\u0631\u0628\u064a\u0651\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea",
        "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd \u2764\ufe0f",
        "\u2764\ufe0f\u200d\U0001f525 1\ufe0f\u20e3 \U0001f1eb\U0001f1f7 \u2139\ufe0f",
        "\U0001f3f3\ufe0f\u200d\U0001f308\U0001f469\U0001f3fd\u200d\U0001f4bb",
        "seven       spaces",
        "a\u0301\u0302\u0303\u0304b",
        "",
    ],
)
def test_ordinary_writing_stays(text: str) -> None:
    assert plain(text) == text
    assert is_clean(text)
    assert spans(text) == ((Span("text", text),) if text else ())


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db",  # a joiner between letters
        "\U0001f600\u200d",  # and one that joins nothing
        "\U0001f600\ufe0f\ufe0f",
        "a\ufe0f",
        "1\ufe0f",
        "\U0001f8ff\u200d\U0001f600",  # a joiner after an unassigned code point
        "sk-aaaaaaaaaaaaaaaaaaa1\ufe0f\u20e3",  # a keycap whose digit is masked
    ],
)
def test_joiners_and_selectors_stay_only_inside_emoji(text: str) -> None:
    assert "U+200D" in plain(text) or "U+FE0F" in plain(text)


def test_a_letter_carries_four_marks_and_no_more() -> None:
    shown = spans("a" + "\u0301" * 3 + "\u0302" * 3 + "b")
    assert shown[0].text == "a\u0301\u0301\u0301\u0302"
    assert shown[1].text == "\u27e82 \u00d7 U+0302 COMBINING CIRCUMFLEX ACCENT\u27e9"
    assert shown[2].text == "b"
    assert plain("a" + "\u0301\u0302" * 50).count("U+03") == 96


@pytest.mark.parametrize("before", ["", "\n", "\u200b", " " * 8, "sk-aaaaaaaaaaaaaaaaaaa1"])
def test_a_mark_without_a_letter_cannot_strike_out_what_we_write(before: str) -> None:
    assert plain(f"{before}\u0338x", multiline=True).endswith("\u27e8U+0338 COMBINING LONG SOLIDUS OVERLAY\u27e9x")


def test_long_runs_of_spaces_are_counted() -> None:
    assert plain("ls" + " " * 300 + "; rm -rf /") == "ls\u27e8300 spaces\u27e9; rm -rf /"
    assert plain("a" + " \u00a0" * 5 + "b") == "a\u27e810 spaces\u27e9b"
    assert spans(" " * 8)[0] == Span("spaces", "\u27e88 spaces\u27e9", "8 spaces in a row")


def test_a_line_break_cannot_fake_a_field_on_a_single_line() -> None:
    assert plain("fine\nApproved by admin") == "fine\u23ceApproved by admin"
    assert plain("fine\r\nApproved by admin") == "fine\u23ceApproved by admin"
    assert not is_clean("a\nb")


def test_line_breaks_stay_where_several_lines_are_shown() -> None:
    assert plain("a\r\nb\n\nc", multiline=True) == "a\nb\n\nc"
    assert is_clean("a\nb", multiline=True)
    assert plain("a\rb", multiline=True) == "a\u27e8U+000D CARRIAGE RETURN\u27e9b"


@pytest.mark.parametrize("multiline", [False, True])
def test_long_runs_of_line_breaks_are_counted(multiline: bool) -> None:
    pushed = "a" + "\n \r\n" * 75 + "rm -rf /"
    assert plain(pushed, multiline=multiline) == "a\u27e8150 line breaks\u27e9rm -rf /"
    assert "line breaks" not in plain("a" + "\n" * 7, multiline=multiline)


def test_the_marker_of_a_cut_gives_the_length_of_the_whole() -> None:
    assert plain("x" * 1204, limit=5) == "xxxxx\u2026 (1,204 characters)"
    assert plain("", limit=0) == ""
    assert plain("x", limit=0) == "\u2026 (1 characters)"


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("ab\u202ecd", 20, "ab"),
        ("abe\u0301", 3, "ab"),
        ("a\U0001f468\u200d\U0001f469", 3, "a"),
        ("a\U0001f468\u200d\U0001f469", 2, "a"),
        ("a\U0001f44d\U0001f3fd", 2, "a"),
        ("a\u202eb" + "c" * 99, 33, "a\u27e8U+202E RIGHT-TO-LEFT OVERRIDE\u27e9b"),
        ("sk-aaaaaaaaaaaaaaaaaaa1 and more", 9, ""),
    ],
)
def test_a_cut_never_goes_through_a_token_a_mask_or_an_emoji(text: str, limit: int, kept: str) -> None:
    assert plain(text, limit=limit) == f"{kept}\u2026 ({len(text)} characters)"


def test_a_negative_limit_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="not negative: -1"):
        plain("a", limit=-1)
    with pytest.raises(ValueError, match="not negative"):
        truncated("a", -1)


def test_secrets_are_masked_in_spans_unless_they_are_revealed() -> None:
    text = "use sk-aaaaaaaaaaaaaaaaaaa1\u202e now"
    assert [span.kind for span in spans(text)] == ["text", "mask", "token", "text"]
    assert [span.kind for span in spans(text, masked=False)] == ["text", "token", "text"]
    assert "sk-aaaa" not in plain(text)
    assert not is_clean("sk-aaaaaaaaaaaaaaaaaaa1")
