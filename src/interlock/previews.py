"""Previews to choose from: what an e-mail, a change of text or data, a statement, a request or files would look like.

Each answers text, so that it can be kept, compared and read anywhere, and says what kind of text it is, so that a page
can draw it. Give one to a tool as it is where the parameters have the same names (`preview=previews.email`), or call
it: `preview=lambda order: previews.sql("DELETE …", rows=look(order))`. Nothing here changes anything but `dry_run`,
which undoes what it did.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from interlock.domain.action import PreviewText

MOST_ROWS = 20
MOST_LINES = 400
PEEK = 400
_SECRET_HEADERS = ("authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key")


def email(
    to: str | Sequence[str],
    subject: str = "",
    body: str = "",
    cc: str | Sequence[str] = (),
    bcc: str | Sequence[str] = (),
    sender: str = "",
    attachments: Iterable[str | Path | tuple[str, bytes]] = (),
) -> PreviewText:
    """A message as it would be sent: its head, and its body as it stands."""
    head = [("From", sender), ("To", _list(to)), ("Cc", _list(cc)), ("Bcc", _list(bcc)), ("Subject", subject)]
    lines = [f"{name}: {' '.join(value.split())}" for name, value in head if value]
    lines += [f"Attached: {_file(each)}" for each in attachments]
    return PreviewText("\n".join([*lines, "", body]), "email")


def text_diff(before: str, after: str, name: str = "") -> PreviewText:
    """What changes from one text to another, with three lines around each change; counted in the first line."""
    old, new = before.splitlines(), after.splitlines()
    changes = list(difflib.unified_diff(old, new, name or "before", name or "after", lineterm="", n=3))[2:]
    added = sum(line.startswith("+") for line in changes)
    gone = sum(line.startswith("-") for line in changes)
    return PreviewText("\n".join([f"{_count(added, 'line')} added, {gone} gone", *_first(changes)]), "diff")


def json_diff(before: object, after: object) -> PreviewText:
    """What changes from one JSON value to another: a line for each path, `-` what it was and `+` what it becomes."""
    changes = list(_changes("", before, after))
    lines: list[str] = []
    for path, was, now in changes:
        lines.append(f"@@ {path or '(all of it)'}")
        lines += [f"-{_json(was)}"] if was is not _ABSENT else []
        lines += [f"+{_json(now)}"] if now is not _ABSENT else []
    return PreviewText("\n".join([f"{_count(len(changes), 'value')} changed", *_first(lines)]), "diff")


def sql(
    statement: str,
    parameters: Sequence[object] | Mapping[str, object] = (),
    columns: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
    total: int | None = None,
) -> PreviewText:
    """A statement with its parameters, the rows that it is about (the first twenty), and how many there are in all."""
    shown = [[_cell(value) for value in row] for row, _ in zip(rows, range(MOST_ROWS + 1), strict=False)]
    number = total if total is not None else len(shown) if len(shown) <= MOST_ROWS else None
    named = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters, 1)
    lines = [statement.strip(), *(f"{name} = {_cell(value)}" for name, value in named), ""]
    if number is not None:
        lines.append(_count(number, "row"))
    elif shown:
        lines.append(f"more than {MOST_ROWS} rows")
    if shown:
        names = columns or [f"column {place}" for place in range(1, len(shown[0]) + 1)]
        lines += ["\t".join(row) for row in ([_cell(name) for name in names], *shown[:MOST_ROWS])]
    return PreviewText("\n".join(lines).rstrip(), "sql")


class _Connection(Protocol):
    def cursor(self) -> Any: ...
    def rollback(self) -> None: ...


def dry_run(
    connection: _Connection, statement: str, parameters: Sequence[object] | Mapping[str, object] = ()
) -> PreviewText:
    """Carry a statement out in a transaction, look at what it touches, and roll it back.

    Give a DB-API connection that is used for nothing else and does not commit by itself. With `RETURNING` the rows
    are shown, else how many. It locks what it touches for that moment, and triggers run, too: do not use it where one
    of them reaches outside the database.
    """
    cursor = connection.cursor()
    try:
        cursor.execute(statement, parameters)
        described = cast("Sequence[Sequence[Any]] | None", cursor.description)
        columns = [str(each[0]) for each in described] if described else []
        rows = list(cursor.fetchall()) if described else []
        touched = len(rows) if described else int(cursor.rowcount)
        return sql(statement, parameters, columns, rows, touched if touched >= 0 else None)
    finally:
        connection.rollback()


def http(
    method: str, url: str, headers: Mapping[str, str] | None = None, body: str | bytes | Mapping[str, Any] | None = None
) -> PreviewText:
    """A request as it would be sent; what authorises it is not shown."""
    lines = [f"{method.upper()} {url}"]
    for name, value in (headers or {}).items():
        lines.append(f"{name}: {'(not shown)' if name.lower() in _SECRET_HEADERS else ' '.join(value.split())}")
    if isinstance(body, Mapping):
        said = json.dumps(dict(body), indent=2, ensure_ascii=False, default=str)
    elif isinstance(body, bytes):
        said = _decoded(body)
    else:
        said = body or ""
    return PreviewText("\n".join([*lines, "", said]).rstrip(), "http")


def files(paths: Iterable[str | Path | tuple[str, bytes]]) -> PreviewText:
    """Files by name, size, type and the beginning of their digest; of text its beginning, too."""
    lines: list[str] = []
    for each in paths:
        name, data = _read(each)
        lines.append(_described(name, data))
        if data is not None and (peek := _peek(data)):
            lines += [f"  {line}" for line in peek.splitlines()[:5]]
    return PreviewText("\n".join([_count(sum(not line.startswith("  ") for line in lines), "file"), *lines]), "files")


_ABSENT = object()


def _changes(path: str, before: object, after: object) -> Iterable[tuple[str, object, object]]:
    one_kind = before.__class__ is after.__class__
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        old, new = cast("Mapping[str, object]", before), cast("Mapping[str, object]", after)
        for key in dict.fromkeys([*old, *new]):
            yield from _changes(f"{path}.{key}" if path else str(key), old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif isinstance(before, list) and isinstance(after, list):
        was, now = cast("list[object]", before), cast("list[object]", after)
        for place in range(max(len(was), len(now))):
            one = was[place] if place < len(was) else _ABSENT
            other = now[place] if place < len(now) else _ABSENT
            yield from _changes(f"{path}[{place}]", one, other)
    elif not one_kind or before != after:
        yield path, before, after


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _first(lines: Sequence[str]) -> list[str]:
    rest = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"({rest:,} more lines)"] if rest > 0 else [])]


def _list(names: str | Sequence[str]) -> str:
    return names if isinstance(names, str) else ", ".join(names)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _cell(value: object) -> str:
    return "NULL" if value is None else " ".join(str(value).split())


def _read(each: str | Path | tuple[str, bytes]) -> tuple[str, bytes | None]:
    if isinstance(each, tuple):
        return each
    path = Path(each)
    try:
        return path.name, path.read_bytes()
    except OSError:
        return str(each), None


def _file(each: str | Path | tuple[str, bytes]) -> str:
    return _described(*_read(each))


def _described(name: str, data: bytes | None) -> str:
    if data is None:
        return f"{name}, cannot be read"
    kind = mimetypes.guess_type(name)[0] or "unknown type"
    return f"{name}, {_count(len(data), 'byte')}, {kind}, sha256 {hashlib.sha256(data).hexdigest()[:12]}"


def _peek(data: bytes) -> str:
    try:
        text = data[:PEEK].decode("utf-8")
    except UnicodeDecodeError as error:
        # A letter that the limit cut in two is no reason to take text for something else.
        text = data[: error.start].decode("utf-8") if len(data) > PEEK and error.start > PEEK - 4 else ""
    return text if text.isprintable() or "\n" in text else ""


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return f"({_count(len(data), 'byte')}, sha256 {hashlib.sha256(data).hexdigest()[:12]})"
