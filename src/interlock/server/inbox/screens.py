"""Every screen, by its routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.server.inbox.batch.screen import routes as batch
from interlock.server.inbox.card.screen import routes as card
from interlock.server.inbox.done.screen import routes as done
from interlock.server.inbox.freeze.screen import routes as freeze
from interlock.server.inbox.ledger.screen import routes as ledger
from interlock.server.inbox.policy.screen import routes as policy
from interlock.server.inbox.queue.screen import routes as queue
from interlock.server.inbox.runs.screen import routes as runs
from interlock.server.inbox.signin.screen import routes as signin

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from interlock.server.inbox.frame.site import Site


def routes(site: Site) -> list[BaseRoute]:
    """The routes of all screens."""
    screens = (signin, queue, card, batch, runs, ledger, policy, freeze, done)
    return [route for screen in screens for route in screen(site)]
