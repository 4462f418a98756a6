"""Lines for a terminal. We lay them out ourselves, so that what was shown is known to the letter.

Colour comes second: every state has a word, and bands differ by their rule. No colour is set for text or ground,
so that dark and light terminals both read well. What people did not write stands behind an edge (`│` values,
`┊` the agent's words): no line of it can pose as a line of ours, whatever it says.
"""

from __future__ import annotations

import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256

from rich.console import Console
from rich.text import Text

WIDEST = 100
NARROWEST = 40
LABEL = 14
"""Columns of the labels at the left of a card."""

QUIET = "dim"
STRONG = "bold"
DANGER = "bold red"
DOUBT = "bold magenta"
GOOD = "green"
AGENT = "italic"

VALUE_EDGE = "│ "
AGENT_EDGE = "┊ "
FOLDED = "▸"

Piece = str | tuple[str, str] | Text


def console() -> Console:
    """The terminal behind stdout; without colour and 100 columns wide where there is none."""
    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        width=None if terminal else WIDEST,
        force_terminal=terminal,
        color_system="auto" if terminal else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def pieces(*parts: Piece) -> Text:
    """Join pieces of text, each with a style of its own if it is a pair."""
    return Text.assemble(*parts, overflow="fold")


class Sheet:
    """Gathers lines of at most `width` columns; `plain` is exactly what `show` prints, without styles."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self.width = max(NARROWEST, min(out.width, WIDEST))
        self._lines: list[Text] = []

    @property
    def plain(self) -> str:
        """All lines as plain text."""
        return "".join(f"{line.plain}\n" for line in self._lines)

    @property
    def digest(self) -> str:
        """The digest of the plain text: evidence of what was shown."""
        return "sha-256:" + urlsafe_b64encode(sha256(self.plain.encode()).digest()).rstrip(b"=").decode()

    def show(self) -> None:
        """Print the lines."""
        for line in self._lines:
            self._out.print(line, no_wrap=True, overflow="ignore", crop=False)

    def blank(self) -> None:
        """An empty line, never two of them."""
        if self._lines and self._lines[-1].plain:
            self._lines.append(Text())

    def rule(self, sign: str = "─", style: str = "") -> None:
        """A line across; its sign carries the rank."""
        self._lines.append(Text(sign * self.width, style))

    def line(self, *parts: Piece, indent: int = 0, hang: int | None = None) -> None:
        """A paragraph, wrapped; its further lines are indented by `hang`."""
        further = indent if hang is None else hang
        self._put(pieces(*parts), " " * indent, " " * further)

    def raw(self, text: str) -> None:
        """A line that is not wrapped, however long: a command that people copy."""
        self._lines.append(_tidy(Text(text)))

    def ends(self, left: Sequence[Piece], right: Sequence[Piece], indent: int = 0) -> None:
        """Two texts at the two ends of a line, or below each other where they do not fit."""
        first, second = pieces(*left), pieces(*right)
        room = self.width - indent - first.cell_len - second.cell_len
        if room >= 2 and "\n" not in first.plain:
            self._lines.append(_tidy(pieces(" " * indent, first, " " * room, second)))
            return
        self._put(first, " " * indent, " " * (indent + 2))
        if second.plain:
            self._put(second, " " * indent, " " * indent)

    def row(self, label: str, *paragraphs: Piece | list[Piece], edge: str = "") -> None:
        """A labelled part of a card: every paragraph on its own lines, behind `edge`."""
        head = label
        for paragraph in paragraphs:
            text = pieces(*(paragraph if isinstance(paragraph, list) else [paragraph]))
            gap = " " * LABEL
            self._put(text, f"{head:<{LABEL}}" + edge, gap + edge, label=len(head))
            head = ""

    def cells(self, columns: Sequence[tuple[str, int]], text: Text, edge: str) -> None:
        """Short columns and, behind an edge, a value that may take many lines."""
        start = "".join(_padded(word, width) for word, width in columns)
        self._put(text, start + edge, " " * sum(width for _, width in columns) + edge, label=len(start))

    def entry(self, heads: Sequence[tuple[str, int, str]], text: Text, edge: str = "") -> None:
        """A line of a list: short columns, each with its width and style, then a text of any length."""
        at = len(self._lines)
        start = "".join(_padded(word, width) for word, width, _ in heads)
        self._put(text, start + edge, " " * len(start) + edge)
        place = 0
        for _, width, style in heads:
            self._lines[at].stylize(style, place, place + width)
            place += width

    def _put(self, text: Text, start: str, further: str, label: int = 0) -> None:
        room = max(10, self.width - max(len(start), len(further)))
        first = True
        for paragraph in text.split("\n", allow_blank=True) or [Text()]:
            for line in paragraph.wrap(self._out, room, overflow="fold") or [Text()]:
                head = Text(start if first else further)
                if first and label:
                    head.stylize(QUIET, 0, label)
                self._lines.append(_tidy(head + line))
                first = False


def _tidy(line: Text) -> Text:
    line.rstrip()
    line.no_wrap = True
    return line


def _padded(word: str, width: int) -> str:
    """A word in a column, with at least one space behind it; what does not fit is cut, and says so."""
    return (word if len(word) < width else word[: width - 2] + "…").ljust(width)


def columns(rows: Iterable[Sequence[str]], most: Sequence[int]) -> list[int]:
    """The widths of columns: as wide as their longest word and a gap of two, up to `most`."""
    widths = [0] * len(most)
    for row in rows:
        widths = [max(width, len(word) + 2) for width, word in zip(widths, row, strict=True)]
    return [min(width, limit) for width, limit in zip(widths, most, strict=True)]
