"""Text from agents as spans that cannot disguise anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from interlock.display.characters import (
    BULLET,
    CLOSE,
    EMOJI,
    JOINER,
    LINE_BREAK,
    OPEN,
    SELECTOR,
    SPACE_CLASS,
    continues,
    is_hidden,
    is_mark,
    meaning,
    token,
)
from interlock.display.masks import find_secrets

Kind: TypeAlias = Literal["text", "token", "mask", "spaces"]

_COUNTED = 8
"""Spaces or line breaks in a row from which on they are counted instead of shown."""

_MARKS = 4
"""Combining marks that one letter may carry; Vietnamese, Thai and pointed Hebrew need fewer."""

_RUN = re.compile(
    r"(?P<ascii>[!-~]++(?: [!-~]++)*+)"
    # \w without the Hangul fillers, and without the one letter that is also an emoji
    r"|(?P<letters>[^\W\u115f\u1160\u2139\u3164\uffa0]++)"
    rf"|(?P<blank>\r?\n(?:{SPACE_CLASS}*+\r?\n){{{_COUNTED - 1},}}+)"
    r"|(?P<line>\r?\n)"
    rf"|(?P<space>{SPACE_CLASS}++)"
    rf"|(?P<emoji>{EMOJI})"
    rf"|(?P<bullets>{BULLET}{{4,}}+)"
    r"|(?P<same>(?P<one>(?s:.))(?P=one)*+)"
)
_SAME = re.compile(r"(?P<one>(?s:.))(?P=one)*+")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of shown text.

    `kind` is `text` (as the agent wrote it), `token` (a character that would hide or
    mislead, spelled out), `mask` (a secret) or `spaces` (a long run, counted). `text` is
    what is shown. `meaning` explains every kind but `text`, for a tooltip or a screen reader.
    """

    kind: Kind
    text: str
    meaning: str = ""


def spans(text: str, *, multiline: bool = False, masked: bool = True) -> tuple[Span, ...]:
    """Split a text into spans that show everything in it and nothing that is not.

    Control, bidirectional, zero-width, tag, filler, selector, private and unassigned
    characters become tokens with name and count, following UTR #36 and UTS #39; so do more
    than four combining marks in a row, and marks without a letter. Runs of eight or more
    spaces or line breaks are counted. Letters of every script, and emoji with their joiners,
    stay. A newline (also CR LF) stays with `multiline`, else it is shown as a sign. Secrets
    are masked unless `masked` is False, which is for a reveal that the ledger knows of.

    Adjacent spans are never both text. Sanitise once, at the surface: a second time spells
    out the brackets of the first. Unassigned means unknown to this Python's Unicode version.
    """
    secrets = find_secrets(text) if masked else []
    if text and not secrets and _is_plain(text):
        return (Span("text", text),)
    writer = _Writer(multiline)
    at = 0
    for mask in secrets:
        writer.read(text, at, mask.start)
        writer.mark_off("mask", mask.shown, mask.meaning)
        at = mask.end
    writer.read(text, at, len(text))
    return writer.done()


def plain(text: str, *, multiline: bool = False, limit: int | None = None) -> str:
    """Join the spans of a text for a terminal, a message or a log line.

    The result never holds a control or invisible character, except the newline with
    `multiline` and, inside an emoji, its joiner and selector. Secrets are masked. With a
    `limit` at most that many characters are shown, then `… (1,204 characters)` with the
    length of the whole text; tokens, masks and emoji are left out rather than cut in two.
    Raises `ValueError` for a negative limit.
    """
    shown = spans(text, multiline=multiline)
    if limit is None or not _exceeds(shown, limit):
        return "".join([span.text for span in shown])
    pieces: list[str] = []
    room = limit
    for span in shown:
        if len(span.text) <= room:
            pieces.append(span.text)
        elif room > 0 and span.kind == "text":
            pieces.append(_cut(span.text, room))
        room -= len(span.text)  # below zero from the first span that does not fit
    return f"{''.join(pieces)}\u2026 ({len(text):,} characters)"


def is_clean(text: str, *, multiline: bool = False) -> bool:
    """Say whether a text is shown exactly as it is: no token, no mask, nothing counted."""
    return all(span.kind == "text" for span in spans(text, multiline=multiline))


def truncated(text: str, limit: int) -> bool:
    """Say whether `plain` with this limit leaves something out (then approval must wait)."""
    return _exceeds(spans(text), limit)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " * _COUNTED not in text


def _exceeds(shown: tuple[Span, ...], limit: int) -> bool:
    if limit < 0:
        raise ValueError(f"a limit is not negative: {limit}")
    return sum(len(span.text) for span in shown) > limit


def _cut(text: str, at: int) -> str:
    # Not between a letter and its marks, nor inside an emoji.
    while at and (continues(text[at]) or text[at - 1] == JOINER):
        at -= 1
    return text[:at]


class _Writer:
    """Gathers spans; knows whether the next mark has a letter to sit on."""

    def __init__(self, multiline: bool) -> None:
        self._multiline = multiline
        self._spans: list[Span] = []
        self._text: list[str] = []
        self._marks = _MARKS  # marks on the last letter; full where there is no letter

    def read(self, text: str, at: int, end: int) -> None:
        while at < end:
            # The last alternative of both patterns takes any character, so there is a match.
            match = cast("re.Match[str]", _RUN.match(text, at, end))
            kind = match.lastgroup
            if kind == "emoji" and not match[0].replace(JOINER, "").isprintable():
                # A code point among the emoji that this Unicode version does not know.
                match, kind = cast("re.Match[str]", _SAME.match(text, at, end)), "same"
            self._take(str(kind), match[0])
            at = match.end()

    def mark_off(self, kind: Kind, shown: str, meant: str) -> None:
        self._flush()
        self._spans.append(Span(kind, shown, meant))
        self._marks = _MARKS

    def done(self) -> tuple[Span, ...]:
        self._flush()
        return tuple(self._spans)

    def _take(self, kind: str, run: str) -> None:
        if kind == "emoji" and run[0] == SELECTOR and not self._text:
            # The digit of this keycap went into a mask: nothing is left to sit on.
            for character in run:
                self.mark_off("token", token(character), meaning(character))
        elif kind in ("ascii", "letters", "emoji"):
            self._keep(run)
        elif kind == "line":
            self._break_line()
        elif kind == "blank":
            self._count(run.count("\n"), "line breaks")
        elif kind == "space" and len(run) >= _COUNTED:
            self._count(len(run), "spaces")
        elif kind == "bullets" or is_hidden(run[0]):
            self.mark_off("token", token(run[0], len(run)), meaning(run[0]))
        elif is_mark(run[0]):
            self._combine(run)
        else:
            self._keep(run)

    def _keep(self, run: str) -> None:
        self._text.append(run)
        self._marks = 0

    def _break_line(self) -> None:
        if self._multiline:
            self._text.append("\n")
            self._marks = _MARKS
        else:
            self.mark_off("token", LINE_BREAK, "line break")

    def _count(self, number: int, what: str) -> None:
        self.mark_off("spaces", f"{OPEN}{number:,} {what}{CLOSE}", f"{number:,} {what} in a row")

    def _combine(self, run: str) -> None:
        kept = run[: _MARKS - self._marks]
        if kept:
            self._text.append(kept)
            self._marks += len(kept)
        surplus = len(run) - len(kept)
        if surplus:
            self.mark_off("token", token(run[0], surplus), meaning(run[0]))

    def _flush(self) -> None:
        if self._text:
            self._spans.append(Span("text", "".join(self._text)))
            self._text.clear()
