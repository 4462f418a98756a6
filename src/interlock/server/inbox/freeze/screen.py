"""Stopping everything, an agent, a tool or a run before its next action; and letting it go again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from interlock.domain.errors import InterlockError
from interlock.server.forms import read_form
from interlock.server.inbox.frame.site import apart, status_of

if TYPE_CHECKING:
    from interlock.server.inbox.frame.site import Site, Visit

SCOPES = ("all", "agent", "tool", "run")


def routes(site: Site) -> list[Route]:
    """What is frozen, and the two things to do about it."""
    return [
        Route("/freeze", site.signed_in(_look), methods=["GET"]),
        Route("/freeze", site.signed_in(_freeze), methods=["POST"]),
        Route("/release", site.signed_in(_release), methods=["POST"]),
    ]


def _page(visit: Visit, scope: str, name: str, error: InterlockError | None = None) -> Response:
    status = status_of(error) if error is not None else 200
    now = visit.site.kernel.now()
    scope = scope if scope in SCOPES else "all"
    return visit.page("freeze/page.html", status, scope=scope, name=name[:200], scopes=SCOPES, now=now, error=error)


async def _look(visit: Visit) -> Response:
    return _page(visit, visit.query("scope"), visit.query("name"))


async def _freeze(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    scope, name, reason = form.one("scope"), form.one("name").strip(), form.one("reason").strip()
    try:
        await apart(lambda: visit.desk.freeze(scope, "" if scope == "all" else name, reason))
    except InterlockError as error:
        return _page(visit, scope, name, error)
    return RedirectResponse("/freeze", 303)


async def _release(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    scope, name = form.one("scope"), form.one("name")
    try:
        await apart(lambda: visit.desk.release(scope, name))
    except InterlockError as error:
        return _page(visit, scope, name, error)
    return RedirectResponse("/freeze", 303)
