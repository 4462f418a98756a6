"""Which characters hide or mislead, and what to call them in front of people."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

OPEN: Final = "\u27e8"
CLOSE: Final = "\u27e9"
"""Brackets of a token. In agent text they are tokens themselves, so nothing can pose as one."""

LINE_BREAK: Final = "\u23ce"
BULLET: Final = "\u2022"
TIMES: Final = "\u00d7"

SPACES: Final = " \u00a0\u202f\u3000"
"""Spaces that ordinary writing uses (plain, French, CJK); all others become tokens."""


def _characters(ranges: str) -> frozenset[str]:
    found: set[str] = set()
    for item in ranges.split():
        first, _, last = item.partition("-")
        found.update(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    return frozenset(found)


# Python calls these printable, yet they show as nothing: the rest of Unicode's
# Default_Ignorable_Code_Point (DerivedCoreProperties.txt) that is not already in a category
# of the unprintable, and a few blanks and joiners that the property does not cover.
_INVISIBLE = _characters(
    "034F 115F-1160 17B4-17B5 180B-180D 180F 3164 FE00-FE0F FFA0 E0100-E01EF"  # ignorable
    " 2800 FFFC 1107F 16FE4 1D159"  # braille blank, object, Brahmi and Khitan, null notehead
)
_OWN_SIGNS = frozenset({OPEN, CLOSE, LINE_BREAK})

_BIDI = _characters("061C 200E-200F 202A-202E 2066-2069")  # Bidi_Control, UAX #9
_TAGS = _characters("E0001 E0020-E007F")
_SELECTORS = _characters("180B-180D 180F FE00-FE0F E0100-E01EF")

# Unicode gives control characters no names; these are the aliases people know.
_CONTROLS = {
    0x00: "NULL",
    0x07: "BELL",
    0x08: "BACKSPACE",
    0x09: "TAB",
    0x0A: "LINE FEED",
    0x0B: "VERTICAL TAB",
    0x0C: "FORM FEED",
    0x0D: "CARRIAGE RETURN",
    0x1B: "ESCAPE",
    0x7F: "DELETE",
    0x85: "NEXT LINE",
    0x9B: "CONTROL SEQUENCE INTRODUCER",
    0x9D: "OPERATING SYSTEM COMMAND",
}

_CATEGORY_NAMES = {
    "Cc": "CONTROL",
    "Cs": "SURROGATE",
    "Co": "PRIVATE USE",
    "Cn": "UNASSIGNED",
}

_MEANINGS = {
    "Cc": "control character",
    "Cs": "half of a character: broken text",
    "Co": "private character: looks different on every machine, or like nothing",
    "Cn": "not a character that this version of Unicode knows",
    "Zl": "line separator",
    "Zp": "paragraph separator",
    "Zs": "unusual space",
    "Mn": "more marks on one letter than writing needs, or a mark without a letter",
    "Mc": "more marks on one letter than writing needs, or a mark without a letter",
    "Me": "more marks on one letter than writing needs, or a mark without a letter",
}


def is_hidden(character: str) -> bool:
    """Say whether a character must be shown as a token wherever it stands.

    True for control, format, bidirectional, zero-width, tag, filler, private, unassigned
    and surrogate characters, separators and rare spaces, variation selectors, and the signs
    that this package writes itself. A newline counts as hidden; callers treat it first.
    """
    if character in SPACES:
        return False
    return not character.isprintable() or character in _INVISIBLE or character in _OWN_SIGNS


def is_mark(character: str) -> bool:
    """Say whether a character combines with the one before it (Unicode category M)."""
    return not character.isascii() and unicodedata.category(character)[0] == "M"


def token(character: str, count: int = 1) -> str:
    """Write a character as a visible token: its code point, its name, and how many of it."""
    times = f"{count:,} {TIMES} " if count > 1 else ""
    return f"{OPEN}{times}U+{ord(character):04X} {_name(character)}{CLOSE}"


def meaning(character: str) -> str:
    """Say in a few words why a character is shown as a token."""
    if character in _BIDI:
        return "changes the direction in which the text around it is shown"
    if character in _TAGS:
        return "invisible tag character; can carry text that only a machine reads"
    if character in _SELECTORS:
        return "invisible selector; can carry data that only a machine reads"
    if character == "\t":
        return "tab"
    if character in _OWN_SIGNS or character == BULLET:
        return "a sign that Interlock writes itself, here as part of the text"
    if character in _INVISIBLE:
        return "invisible character"
    return _MEANINGS.get(unicodedata.category(character), "invisible character")


def _name(character: str) -> str:
    known = _CONTROLS.get(ord(character)) or unicodedata.name(character, "")
    return known or _CATEGORY_NAMES[unicodedata.category(character)]


# Emoji (UTS #51) need two invisible characters: a joiner between pictures, and the selector
# U+FE0F after one. They stay only there. The ranges are those of Extended_Pictographic,
# without LINE_BREAK; letters and the digits of a keycap are matched on their own.
_PICTURE = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a-\u23cd\u23cf-\u23ff"
    "\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff]"
)
JOINER: Final = "\u200d"
SELECTOR: Final = "\ufe0f"
_STYLE = "[\ufe0f\U0001f3fb-\U0001f3ff]?"

EMOJI: Final = (
    rf"(?<=[0-9#*]){SELECTOR}\u20e3"  # keycap, after its digit
    rf"|{_PICTURE}{_STYLE}(?:{JOINER}{_PICTURE}{_STYLE})+"
    rf"|{_PICTURE}{SELECTOR}"
)
"""Pattern of emoji that hold a joiner or selector."""

_SKIN_TONES = _characters("1F3FB-1F3FF")


def continues(character: str) -> bool:
    """Say whether a text must not be cut just before this character."""
    return character == JOINER or character in _SKIN_TONES or is_mark(character)


SPACE_CLASS: Final = f"[{re.escape(SPACES)}]"
