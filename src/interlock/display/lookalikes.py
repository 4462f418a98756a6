"""Names that look like other names: hosts, addresses, tools."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from interlock.display.characters import is_hidden, is_mark

_EAST_ASIAN: Final = "EAST ASIAN"
_SHARED: Final = ""
_SCRIPTS = {
    "CJK": _EAST_ASIAN,
    "IDEOGRAPHIC": _EAST_ASIAN,
    "HIRAGANA": _EAST_ASIAN,
    "KATAKANA": _EAST_ASIAN,
    "BOPOMOFO": _EAST_ASIAN,
    "HANGUL": _EAST_ASIAN,
    "MODIFIER": _SHARED,
}


def _table(pairs: str) -> dict[str, str]:
    return {chr(int(pair[:-1], 16)): pair[-1] for pair in pairs.split()}


# Code point and the ASCII character it passes for; after confusables.txt (UTS #39), kept to
# pairs that are alike in common fonts. In hex, so that nobody has to trust their eyes.
_TWINS = _table(
    # Cyrillic
    " 0430a 0441c 0501d 0435e 04BBh 0456i 0458j 04CFl 043Eo 0440p 051Bq 0455s 0475v 051Dw"
    " 0445x 0443y 04AFy 0410A 0412B 0415E 0405S 0406I 0408J 041AK 041CM 041DH 041EO 0420P"
    " 0421C 0422T 0425X 0423Y 04AEY 051AQ 051CW 0474V 050CG 04C0I 0500d"
    # Greek
    " 03B1a 03BDv 03BFo 03C1p 03C5u 03B9i 03B3y 03F2c 03F3j 0391A 0392B 0395E 0396Z 0397H"
    " 0399I 039AK 039CM 039DN 039FO 03A1P 03A4T 03A5Y 03A7X 03F9C 037FJ 03D2Y"
    # Armenian
    " 0585o 0578n 057Du 0570h 0581g 0566q 0575j 054DU 054FS 0555O 053CL"
    # Cherokee
    " 13AAA 13F4B 13DFC 13A0D 13ACE 13C0G 13BBH 13A5i 13ABJ 13E6K 13DEL 13B7M 13E2P 13A1R"
    " 13DAS 13A2T 13D9V 13B3W 13C3Z 13CE4 AB7Aa ABAFc AB70d AB7Ce AB8Bh AB7Bj ABB6k ABAEl"
    " AB87m ABB2p ABA2r ABAAs AB72t ABA9v AB83w AB93z"
    # Lisu
    " A4D0B A4D1P A4D2d A4D3D A4D4T A4D6G A4D7K A4D9J A4DAC A4DCZ A4DDF A4DFM A4E0N A4E1L"
    " A4E2S A4E3R A4E6V A4E7H A4EAW A4EBX A4ECY A4EEA A4F0E A4F2I A4F3O A4F4U"
    # Coptic
    " 2C9Fo 2CA3p 2CA5c 2CADx 2CA9y 2C80A 2C82B 2C88E 2C92I 2C94K 2C98M 2C9AN 2C9EO 2CA2P"
    " 2CA4C 2CA6T 2CACX"
    # Myanmar, Georgian
    " 101Do 10DDo"
)

# Latin letters, and signs, that stand for an ASCII one wherever they appear.
_IMPOSTORS = _table(
    " 0131i 0251a 0261g 0269i 028Bv 1D20v 1D21w 1D22z 1D0Fo 1D04c 1D1Cu A731s 028Fy 0262g"
    " 029Fl 0274n 0280r 026Ai 029Ch 0185b 01C0l 1D00a 1D07e 1D0Aj 1D0Bk 1D0Dm 1D18p 1D1Bt"
    " 1D05d"
    " 3002. 2024. 2010- 2011- 2012- 2013- 2014- 2212- 2215/ 2044/ 29F8/ 2236: A789: 02D0:"
)

# Only similar: they complete the ASCII reading of a name that is flagged for another reason.
_SIMILAR = _table(
    " 04316 0432b 0433r 043Ak 043Cm 043Dh 043Fn 0442t 044Cb 04373 0438u 050Dg 03B5e 03BAk"
    " 03C4t 03C7x 03B7n 03C9w 03C3o 03B2b 0561w 0572n 05E1o 05D5l 05DFl 0627l 0647o"
)
_READINGS = _SIMILAR | _IMPOSTORS | _TWINS

_SEPARATORS = re.compile(r"([.@:/\\?#&=\s\u3002]+)")
_WORD = re.compile(r"[^\W_]+")
_LONGEST_LABEL = 63
_MUCH_TOO_LONG = 256


@dataclass(frozen=True, slots=True)
class LookAlike:
    """A name that may be taken for another.

    `ascii` is what it looks like, with `?` for letters that look like no ASCII character;
    `punycode` is what a resolver would be asked for; `reason` says in words what is wrong;
    `letters` names the characters at fault, like `U+0430 CYRILLIC SMALL LETTER A`.
    """

    text: str
    ascii: str
    punycode: str
    reason: str
    letters: tuple[str, ...]


def look_alike(name: str) -> LookAlike | None:
    """Flag a host, address or tool name that could be taken for another, or return None.

    Flagged are words of mixed script (Latin with Han, kana or Hangul is not mixed; UTS #39
    §5.2, highly restrictive), words of another script whose letters all look Latin, styled
    and full-width forms of ASCII, impostors among Latin letters and punctuation, and
    invisible characters. `xn--` labels (RFC 3492) are decoded first. A name in one script
    of its own, and accented Latin, is fine. Look-alikes within ASCII are not considered.
    """
    decoded = "".join(map(_decoded, _SEPARATORS.split(name)))
    if decoded.isascii():
        return None
    visible = [character for character in decoded if not is_hidden(character)]
    spelled = [part for character in visible for part in _spelled(character)]
    words = _WORD.findall("".join(spelled))
    mixed = [word for word in words if _is_mixed(word)]
    twins = [word for word in words if _is_twin(word)]
    faults = {
        "mixes scripts": _foreign(mixed),
        "every letter looks like a Latin one": _foreign(twins),
        "letters or signs that pass for plain ones": [c for c in spelled if c in _IMPOSTORS],
        "styled forms of plain characters": [c for c in visible if _is_styled(c)],
        "invisible characters": [c for c in decoded if is_hidden(c)],
    }
    if not any(faults.values()):
        return None
    letters = dict.fromkeys(c for found in faults.values() for c in found)
    return LookAlike(
        text=name,
        ascii="".join(map(_reading, spelled)),
        punycode=_punycode("".join(visible)),
        reason="; ".join(fault for fault, found in faults.items() if found),
        letters=tuple(f"U+{ord(c):04X} {unicodedata.name(c, 'UNNAMED')}" for c in letters),
    )


def _decoded(label: str) -> str:
    if label[:4].lower() != "xn--" or len(label) > _LONGEST_LABEL:
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _spelled(character: str) -> str:
    """Take a character apart into letters without marks and without style."""
    if character in _READINGS:
        return character
    parts = unicodedata.normalize("NFKD", character)
    return "".join([part for part in parts if not is_mark(part)])


def _is_styled(character: str) -> bool:
    if character.isascii() or character in _READINGS:
        return False
    return unicodedata.normalize("NFKD", character).isascii()


def _script(letter: str) -> str:
    # The name of a letter starts with its script; Python ships no script property.
    if letter.isascii():
        return "LATIN" if letter.isalpha() else _SHARED
    first = unicodedata.name(letter, "").removeprefix("EXTENDED ").replace("-", " ").split(" ")[0]
    return _SCRIPTS.get(first, first)


def _scripts(word: str) -> set[str]:
    return set(map(_script, word)) - {_SHARED}


def _is_mixed(word: str) -> bool:
    scripts = _scripts(word)
    return len(scripts) > 1 and scripts != {"LATIN", _EAST_ASIAN}


def _is_twin(word: str) -> bool:
    letters = [letter for letter in word if letter.isalpha()]
    return bool(letters) and all(letter in _TWINS for letter in letters)


def _foreign(words: list[str]) -> list[str]:
    return [letter for word in words for letter in word if _script(letter) not in ("LATIN", _SHARED)]


def _reading(character: str) -> str:
    if character.isascii():
        return character
    digit = unicodedata.decimal(character, None)
    return _READINGS.get(character) or ("?" if digit is None else str(digit))


def _punycode(visible: str) -> str:
    # Roughly UTS #46: compatibility forms and capitals are folded before encoding.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).lower())
    return "".join(map(_encoded, _SEPARATORS.split(folded.replace("\u3002", "."))))


def _encoded(label: str) -> str:
    if label.isascii():
        return label
    if len(label) > _MUCH_TOO_LONG:  # punycode takes quadratic time; no label is this long
        return "?"
    return "xn--" + label.encode("punycode").decode("ascii")
