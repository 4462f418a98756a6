"""What is asked about: the policy of each agent, and what each rule cost people lately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from interlock.server.inbox.frame.site import Site, Visit

EVENTS = 5_000
COLUMNS = ("approved", "modified", "rejected", "redirected", "answered", "expired")


def routes(site: Site) -> list[Route]:
    """The one page."""
    return [Route("/policy", site.signed_in(_look), methods=["GET"])]


async def _look(visit: Visit) -> Response:
    kernel = visit.site.kernel
    found = kernel.lately(EVENTS)
    agents = sorted({agent for tally in found.tools.values() for agent in tally.agents})
    adopted = [(agent, *known) for agent in agents if (known := kernel.policy_of(agent)) is not None]
    return visit.page(
        "policy/page.html",
        lately=found,
        adopted=adopted,
        agents=agents,
        columns=COLUMNS,
        now=kernel.now(),
        tools=sorted(found.tools.items(), key=lambda pair: -pair[1].asked),
        rules=sorted(found.rules.items(), key=lambda pair: -pair[1].asked),
    )
