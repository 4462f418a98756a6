"""What an agent knew when it made a call: its conversation, read back message by message for people to see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from interlock.canonical import Json, parse
from interlock.ports.store import Rows


@dataclass(frozen=True, slots=True)
class Said:
    """One message. `role` as the framework has it (human, ai, tool, system), `calls` are tools' names and arguments
    as text, `failed` says that a tool's answer told of an error.
    """

    role: str
    text: str
    name: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Knew:
    """The last messages of a conversation, in order. `whole` says that there are none before them."""

    said: tuple[Said, ...] = ()
    whole: bool = True


NOTHING_KNOWN = Knew()
"""Where a framework tells of no conversation."""


def knew(rows: Rows, head: object, most: int) -> Knew:
    """The last `most` messages up to the one that `head` names."""
    found = list(_back(rows, head, most + 1))
    return Knew(tuple(reversed(found[:most])), whole=len(found) <= most)


def _back(rows: Rows, head: object, most: int) -> Iterator[Said]:
    while isinstance(head, str) and head and most:
        data = rows.blob(head)
        if data is None:
            return
        link = cast("dict[str, Json]", parse(data))
        yield _said(cast("dict[str, Json]", link["message"]))
        head, most = link["before"], most - 1


def _said(message: dict[str, Json]) -> Said:
    calls = cast("list[dict[str, Json]]", message.get("calls", []))
    return Said(
        str(message["role"]),
        str(message["content"]),
        str(message.get("name", "")),
        tuple((str(each["name"]), str(each["args"])) for each in calls),
        failed=message.get("status") == "error",
    )
