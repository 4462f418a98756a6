"""Several cards of one kind, decided together: every row is shown, what stands out is left out, each has its result."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from interlock.cards.asking import follows
from interlock.cards.headline import by_risk, what_card
from interlock.cards.values import value_of
from interlock.cards.words import label
from interlock.domain.batch import MOST, Batch, Candidate
from interlock.domain.decision import Shown, Verdict
from interlock.domain.errors import DecisionError
from interlock.domain.ids import InterruptId
from interlock.server.forms import read_form
from interlock.server.inbox.frame.html import already
from interlock.server.inbox.frame.site import apart
from interlock.server.rules import decide_together, sorted_for
from interlock.wire.reviewers import Item

if TYPE_CHECKING:
    from interlock.kernel.views import CardView
    from interlock.server.inbox.frame.site import Site, Visit

DONE = {"approve": "approved", "reject": "rejected"}
VERBS = tuple(DONE)


@dataclass(frozen=True, slots=True)
class Line:
    """A row: the card, the digest that was shown, the values of the columns; `said` is what came of it."""

    view: CardView
    digest: str
    values: Sequence[Markup]
    said: str = ""
    failed: bool = False


def routes(site: Site) -> list[Route]:
    """Looking at the selected cards, and deciding them."""
    return [
        Route("/batch", site.signed_in(_look), methods=["GET"]),
        Route("/batch", site.signed_in(_decide), methods=["POST"]),
    ]


def _views(visit: Visit, named: Sequence[str]) -> list[tuple[CardView, str]]:
    """The cards that were selected, each with the digest that was seen: a card that came since is never among them."""
    found: list[tuple[CardView, str]] = []
    for each in dict.fromkeys(named):
        card, _, digest = each.partition(".")
        if not card or not digest:
            raise DecisionError("bad_form", "a selected card is named by its id and digest", "Select them again.")
        found.append((visit.desk.card(card), digest))
    return found[: MOST * 4]


async def _look(visit: Visit) -> Response:
    views = _views(visit, visit.request.query_params.getlist("card"))
    waiting = [(view, digest) for view, digest in views if view.card.open and view.card.digest == digest]
    made = sorted_for(visit.site.kernel, visit.desk, [view for view, _ in waiting])
    return _page(visit, made, waiting, gone=len(views) - len(waiting))


def _page(visit: Visit, made: Batch, views: Sequence[tuple[CardView, str]], gone: int) -> Response:
    known: dict[str, tuple[CardView, str]] = {view.card.id: (view, digest) for view, digest in views}
    names = (
        [name for name in by_risk(dict(made.together[0].arguments)) if name in made.varying] if made.together else []
    )
    lines = [Line(*known[one.id], [_value(one, name) for name in names]) for one in made.together]
    first = known[made.together[0].id][0] if made.together else None
    return visit.page(
        "batch/page.html",
        lines=lines,
        columns=[label(name) for name in names],
        constants=[(label(name), _value(made.together[0], name)) for name in made.constant] if made.together else [],
        apart=[(known[one.id][0], why) for one, why in made.apart],
        happens=follows(first) if first is not None else "",
        tool=first.about.action.tool if first is not None else "",
        gone=gone,
        results=False,
    )


def _value(one: Candidate, name: str) -> Markup:
    value = value_of(name, one.arguments.get(name))
    return already(value.short or value.whole)


async def _decide(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    verb, note = form.one("verb"), form.one("note").strip()
    if verb not in VERBS:
        raise DecisionError("bad_verdict", "no button of this page says that", "Press one of the buttons.")
    views = {view.card.id: (view, digest) for view, digest in _views(visit, form.all("card"))}
    items = [Item(card, digest) for card, (_, digest) in views.items()]
    shown = Shown("web", batch=secrets.token_hex(8))
    came = await apart(lambda: decide_together(visit.site.kernel, visit.desk, Verdict(verb), items, note, shown))
    lines = [
        Line(*views[InterruptId(one.interrupt)], (), one.words or DONE[verb], failed=bool(one.code)) for one in came
    ]
    return visit.page("batch/page.html", lines=lines, results=True, what=what_card, apart=(), columns=())
