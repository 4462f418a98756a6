"""What was decided lately, and what became of it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from interlock.cards.headline import what
from interlock.cards.sentences import sentence
from interlock.cards.standing import standing
from interlock.domain.errors import InterlockError
from interlock.domain.events import EventType
from interlock.kernel.record import SAID

if TYPE_CHECKING:
    from interlock.kernel.views import CardView
    from interlock.server.inbox.frame.site import Site, Visit

SHOWN = 50
LOOKED_AT = 5_000
ENDINGS = (EventType.DECISION_RECORDED, EventType.ACTION_RECONCILED, EventType.INTERRUPT_EXPIRED)


def routes(site: Site) -> list[Route]:
    """The one page."""
    return [Route("/done", site.signed_in(_look), methods=["GET"])]


async def _look(visit: Visit) -> Response:
    found: list[tuple[CardView, str, str, str]] = []
    for _, event in islice(visit.desk.ledger_backwards(), LOOKED_AT):
        if event.type not in ENDINGS or event.interrupt is None:
            continue
        try:
            view = visit.desk.card(event.interrupt)
        except InterlockError:
            continue
        how = SAID.get(str(event.body.get("verdict")), "expired")
        found.append((view, sentence(event, view.about), how, standing(view.about, view.run, view.now)))
        if len(found) == SHOWN:
            break
    return visit.page("done/page.html", decided=found, now=visit.site.kernel.now(), what=what)
