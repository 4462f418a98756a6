"""Words and values as HTML: everything that an agent wrote is sanitised, escaped, and marked where it was odd."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup, escape

from interlock.cards.values import impostor
from interlock.cards.words import clock, span
from interlock.display import Span, spans

_CLASSES = {"token": "tok", "mask": "mask", "spaces": "tok"}


def shown(text: object, limit: int | None = None, *, multiline: bool = False, masked: bool = True) -> Markup:
    """A text as it may be looked at: what would hide or mislead stands in a box of its own, secrets are masked.

    With a limit at most so many characters, then how many there are.
    """
    whole = text if isinstance(text, str) else str(text)
    parts: list[str] = []
    room = limit if limit is not None else len(whole) * 64 + 64
    for part in spans(whole, multiline=multiline, masked=masked):
        if room <= 0:
            break
        cut = part.text[:room] if part.kind == "text" else part.text
        room -= len(part.text)
        parts.append(_piece(part, cut))
    if room < 0 or (room == 0 and limit is not None and limit < len(whole)):
        parts.append(f'\u2026 <span class="quiet">({len(whole):,} characters)</span>')
    return Markup("".join(parts))  # noqa: S704 - every part is escaped in `_piece`


def _piece(part: Span, text: str) -> str:
    said = str(escape(text))
    if part.kind == "text":
        return said
    meaning = f' title="{escape(part.meaning)}"' if part.meaning else ""
    return f'<span class="{_CLASSES[part.kind]}"{meaning}>{said}</span>'


def already(text: str) -> Markup:
    """A text that was sanitised before, for example by `interlock.cards`: escaped, with its tokens marked."""
    parts: list[str] = []
    rest = text
    while rest:
        start = rest.find("\u27e8")
        end = rest.find("\u27e9", start)
        if start < 0 or end < 0:
            break
        parts.append(str(escape(rest[:start])))
        parts.append(f'<span class="tok">{escape(rest[start : end + 1])}</span>')
        rest = rest[end + 1 :]
    return Markup("".join([*parts, str(escape(rest))]))  # noqa: S704 - every part is escaped


def twin(text: str) -> dict[str, str] | None:
    """What a host, an address or a path pretends to be, in words; None where it pretends nothing."""
    found = impostor(text)
    if found is None:
        return None
    return {
        "ascii": found.ascii,
        "reason": found.reason,
        "letters": ", ".join(found.letters[:2]),
        "punycode": found.punycode,
    }


def moment(at: datetime, now: datetime, *, seconds: bool = False) -> Markup:
    """An instant for people, with the exact one behind it."""
    exact = at.astimezone(UTC)
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        exact.isoformat(timespec="milliseconds"), f"{exact:%Y-%m-%d %H:%M:%S}", clock(at, now, seconds=seconds)
    )


def ago(at: datetime, now: datetime) -> str:
    """How long ago something was, as people say it."""
    return span(now - at)
