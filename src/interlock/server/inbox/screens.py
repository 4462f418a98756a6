"""Every screen, by its routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.server.inbox.queue.screen import routes as queue
from interlock.server.inbox.signin.screen import routes as signin

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from interlock.server.inbox.frame.site import Site


def routes(site: Site) -> list[BaseRoute]:
    """The routes of all screens."""
    return [route for screen in (signin, queue) for route in screen(site)]
