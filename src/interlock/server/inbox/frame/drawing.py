"""Previews as HTML, by their kind. Whatever does not look like its kind is shown as the text that it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from interlock.server.inbox.frame.html import shown

if TYPE_CHECKING:
    from interlock.domain.action import Preview

_EMPTY = Markup("")


def drawn(preview: Preview) -> Markup:
    """A preview for people: a letter, a change with its lines marked, a statement with its rows."""
    text = preview.text or ""
    draw = _DRAWERS.get(preview.kind)
    made = draw(text) if draw is not None else None
    return made if made is not None else _plain(text)


def _plain(text: str) -> Markup:
    return Markup('<div class="code">{}</div>').format(shown(text, multiline=True))


def _joined(parts: Sequence[Markup]) -> Markup:
    return _EMPTY.join(parts)


def _headed(text: str) -> Markup | None:
    """Lines of a head, an empty line, and a body: an e-mail or a request."""
    head, _, body = text.partition("\n\n")
    rows: list[Markup] = []
    for line in head.split("\n"):
        name, sign, value = line.partition(": ")
        if sign and " " not in name:
            rows.append(Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(shown(name), shown(value)))
        else:
            rows.append(Markup("<div><dt></dt><dd><b>{}</b></dd></div>").format(shown(line)))
    said = Markup('<div class="letter-body">{}</div>').format(shown(body, multiline=True)) if body else _EMPTY
    return Markup('<div class="letter"><dl class="ids">{}</dl>{}</div>').format(_joined(rows), said)


_SIGNS = {"+": ("now", "added "), "-": ("was", "gone "), "@": ("at", "")}


def _diff(text: str) -> Markup | None:
    count, _, rest = text.partition("\n")
    lines: list[Markup] = []
    for line in rest.split("\n") if rest else ():
        name, hidden = _SIGNS.get(line[:1], ("same", ""))
        words = Markup('<span class="vh">{}</span>').format(hidden) if hidden else _EMPTY
        lines.append(Markup('<span class="d d-{}">{}{}</span>').format(name, words, shown(line or " ")))
    return Markup('<p class="small"><b>{}</b></p><div class="code diff">{}</div>').format(shown(count), _joined(lines))


def _sql(text: str) -> Markup | None:
    statement, _, rest = text.partition("\n\n")
    lines = rest.split("\n") if rest else []
    said = _plain(statement)
    if not lines:
        return said
    count = Markup('<p class="small"><b>{}</b></p>').format(shown(lines[0]))
    rows = [line.split("\t") for line in lines[1:]]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        more = _plain("\n".join(lines[1:])) if rows else _EMPTY
        return Markup("{}{}{}").format(said, count, more)
    head = _joined([Markup('<th scope="col">{}</th>').format(shown(cell)) for cell in rows[0]])
    cells = [_joined([Markup('<td class="exact">{}</td>').format(shown(cell)) for cell in row]) for row in rows[1:]]
    body = _joined([Markup("<tr>{}</tr>").format(row) for row in cells])
    return Markup(
        '{}{}<div class="wide" tabindex="0" role="region" aria-label="Rows"><table class="table"><thead><tr>{}</tr>'
        "</thead><tbody>{}</tbody></table></div>"
    ).format(said, count, head, body)


_DRAWERS: dict[str, Callable[[str], Markup | None]] = {
    "email": _headed,
    "http": _headed,
    "diff": _diff,
    "sql": _sql,
}
