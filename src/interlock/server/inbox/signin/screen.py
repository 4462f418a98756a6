"""Signing in with a link that works once, and out again. Opening the link decides nothing; the button does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from interlock.domain.errors import DecisionError
from interlock.server.forms import read_form
from interlock.server.inbox.frame.site import apart
from interlock.server.sessions import forget, keep, session_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from interlock.server.inbox.frame.site import Site, Visit


def routes(site: Site) -> list[Route]:
    """The way in and the way out."""

    async def ask(request: Request) -> Response:
        token, onward = request.query_params.get("token", ""), _inside(request.query_params.get("next", "/"))
        if session_of(request, site.kernel, site.border) is not None and not token:
            return RedirectResponse(onward, 303)
        return site.page(request, "signin/page.html", token=token, onward=onward, error=None)

    async def enter(request: Request) -> Response:
        onward = "/"
        try:
            form = await read_form(request)
            token, onward = form.one("token").strip(), _inside(form.one("next", "/"))
            # Whoever pastes the whole link means the token in it.
            made = await apart(lambda: site.kernel.sign_in(token.rpartition("token=")[2].partition("&")[0]))
        except DecisionError as error:
            return site.page(request, "signin/page.html", 401, token="", onward=onward, error=error)
        response = RedirectResponse(onward, 303)
        keep(response, site.border, made.token)
        return response

    async def leave(visit: Visit) -> Response:
        visit.session.sent(await read_form(visit.request))
        person = str(visit.session.person)
        await apart(lambda: visit.site.kernel.end_credential(visit.session.id, person, "signed out"))
        response = visit.site.page(visit.request, "signin/left.html")
        forget(response, visit.site.border)
        return response

    return [
        Route("/signin", ask, methods=["GET"]),
        Route("/signin", enter, methods=["POST"]),
        Route("/signout", site.signed_in(leave), methods=["POST"]),
    ]


def _inside(where: str) -> str:
    """A place on this server; whatever could lead elsewhere leads to the inbox."""
    if not where.startswith("/") or where.startswith("//") or "\\" in where or any(sign < " " for sign in where):
        return "/"
    return where
