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
from interlock.cards.whole import must_open
from interlock.cards.words import label
from interlock.domain.batch import MOST, Batch, Candidate, batch
from interlock.domain.decision import Shown
from interlock.domain.errors import DecisionError, InterlockError
from interlock.server.forms import read_form
from interlock.server.inbox.frame.html import already
from interlock.server.inbox.frame.site import apart

if TYPE_CHECKING:
    from interlock.kernel.views import CardView
    from interlock.server.inbox.frame.site import Site, Visit

VERBS = ("approve", "reject")


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


def candidate(visit: Visit, view: CardView) -> Candidate:
    """A card as far as a batch is concerned."""
    arguments = view.about.current.arguments
    opened = visit.site.kernel.opened(view.card.id, visit.session.person)
    action = view.about.action
    return Candidate(
        view.card.id,
        view.card.kind,
        view.card.band,
        action.tool,
        action.ruling.policy_digest,
        frozenset(reason.code for reason in action.ruling.reasons),
        arguments,
        again=view.card.previous is not None or action.attempt > 1 or bool(view.freezes),
        closed=any(part not in opened for part in must_open(view, arguments)),
    )


async def _look(visit: Visit) -> Response:
    views = _views(visit, visit.request.query_params.getlist("card"))
    waiting = [(view, digest) for view, digest in views if view.card.open and view.card.digest == digest]
    made = batch([candidate(visit, view) for view, _ in waiting])
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
    views = _views(visit, form.all("card"))
    made = batch([candidate(visit, view) for view, _ in views])
    fits = {one.id for one in made.together}
    why = {one.id: reason for one, reason in made.apart}
    name = secrets.token_hex(8)
    lines: list[Line] = []
    for view, digest in views:
        try:
            if view.card.open and view.card.id not in fits:
                raise DecisionError("not_alike", why[view.card.id], "Decide it on its own card.")
            await apart(lambda view=view, digest=digest: _one(visit, verb, view, digest, note, name))
        except InterlockError as error:
            lines.append(Line(view, digest, (), f"{error.message} [{error.code}]", failed=True))
        else:
            lines.append(Line(view, digest, (), "approved" if verb == "approve" else "rejected"))
    return visit.page("batch/page.html", lines=lines, results=True, what=what_card, apart=(), columns=())


def _one(visit: Visit, verb: str, view: CardView, digest: str, note: str, name: str) -> None:
    decide = visit.desk.approve if verb == "approve" else visit.desk.reject
    decide(view.card.id, digest=digest, note=note, shown=Shown("web", batch=name))
