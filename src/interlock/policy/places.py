"""Where keys and values stand in a TOML text: `tomllib` reads what they are, but does not say where.

Only for texts that `tomllib` has taken: whatever is wrong with the syntax was found there, so that this needs no more
than to tell strings, arrays and tables apart.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

Path = tuple[str | int, ...]

_SPACE: Final = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_STRING: Final = re.compile(
    r'"""(?:\\[\s\S]|(?!""")[^\\])*"""(?:"{0,2})|\'\'\'(?:(?!\'\'\')[\s\S])*\'\'\'(?:\'{0,2})'
    r'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
)
_OTHER: Final = re.compile(r"[^,\]}#\n]+")
_ESCAPE: Final = re.compile(r"\\(?:u.{4}|U.{8}|x..|[ \t]*\n\s*|.)", re.DOTALL)


class Places:
    """Line and column, both from 1, of every key and value of a TOML text whose lines end in newlines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._at = 0
        self._keys: dict[Path, int] = {}
        self._values: dict[Path, tuple[int, int]] = {}
        self._counts: dict[Path, int] = {}
        self._read()

    def key(self, path: Path) -> tuple[int, int]:
        """Where a key stands, or the header of a table; what has no place of its own is at the next one outside."""
        while path and path not in self._keys:
            path = path[:-1]
        return self._place(self._keys.get(path, 0))

    def value(self, path: Path) -> tuple[int, int]:
        """Where a value begins; a table begins at its header."""
        return self._place(self._values[path][0]) if path in self._values else self.key(path)

    def characters(self, path: Path) -> tuple[tuple[int, int], ...]:
        """Line and column of each character of a string's value, and of its end."""
        start, end = self._values[path]
        text = self._text
        opening = 3 if end - start >= 6 and text.startswith(('"""', "'''"), start) else 1
        at, stop, escapes = start + opening, end - opening, text[start] == '"'
        if opening == 3 and text[at] == "\n":
            at += 1  # the line end after the opening is no part of the value
        found: list[int] = []
        while at < stop:
            escape = _ESCAPE.match(text, at) if escapes and text[at] == "\\" else None
            if escape is None or "\n" not in escape[0]:
                found.append(at)
            at = at + 1 if escape is None else escape.end()
        return tuple(self._place(each) for each in (*found, stop))

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def _read(self) -> None:
        here: Path = ()
        while self._skip() < len(self._text):
            if self._text[self._at] == "[":
                here = self._header()
            else:
                self._pair(here)

    def _skip(self) -> int:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        assert match is not None, "tomllib has read this text"
        self._at = match.end()
        return match[0]

    def _key_parts(self) -> list[tuple[str, int]]:
        """The parts of a dotted key, each with where it stands."""
        parts: list[tuple[str, int]] = []
        while True:
            start = self._skip()
            if self._text[start] in "\"'":
                parts.append((tomllib.loads(f"key = {self._take(_STRING)}")["key"], start))
            else:
                parts.append((self._take(_BARE), start))
            if self._text[self._skip()] != ".":
                return parts
            self._at += 1

    def _header(self) -> Path:
        brackets = 2 if self._text.startswith("[[", self._at) else 1
        self._at += brackets
        parts = self._key_parts()
        self._at += brackets
        path: Path = ()
        for index, (part, start) in enumerate(parts):
            path = (*path, part)
            self._keys.setdefault(path, start)
            if brackets == 2 and index == len(parts) - 1:
                self._counts[path] = self._counts.get(path, 0) + 1
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
                self._keys.setdefault(path, start)
        return path

    def _pair(self, here: Path) -> None:
        for part, start in self._key_parts():
            here = (*here, part)
            self._keys.setdefault(here, start)
        self._at += 1  # the equals sign
        self._value(here)

    def _value(self, path: Path) -> None:
        start = self._skip()
        first = self._text[start]
        if first in "\"'":
            self._take(_STRING)
        elif first == "[":
            self._items("]", lambda count: self._value((*path, count)))
        elif first == "{":
            self._items("}", lambda _: self._pair(path))
        else:
            self._take(_OTHER)
        self._values[path] = (start, self._at)

    def _items(self, closing: str, read: Callable[[int], None]) -> None:
        self._at += 1
        count = 0
        while self._text[self._skip()] != closing:
            read(count)
            count += 1
            if self._text[self._skip()] == ",":
                self._at += 1
        self._at += 1
