"""The application: every route, behind one guard."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from interlock.domain.errors import InterlockError
from interlock.server.inbox import screens
from interlock.server.inbox.frame.site import Site
from interlock.server.limits import Limits
from interlock.server.live import Live
from interlock.server.security import Border, Guard

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from interlock.kernel import Kernel


def create_app(kernel: Kernel, border: Border, limits: Limits | None = None, api: Sequence[BaseRoute] = ()) -> ASGIApp:
    """The pages and the API over a kernel, as an ASGI application."""
    site = Site(kernel, border)
    live = Live(kernel)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        with live:
            yield

    async def missing(request: Request, _: Exception) -> Response:
        return site.page(request, "fault/missing.html", 404)

    async def broken(request: Request, _: Exception) -> Response:
        return site.page(request, "fault/broken.html", 500)

    routes: list[BaseRoute] = [
        *_health(kernel),
        site.files.route,
        Route("/live", live.endpoint(site), methods=["GET"]),
        *screens.routes(site),
        *api,
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: missing, 500: broken})
    return Guard(app, border, limits or Limits())


def _health(kernel: Kernel) -> list[Route]:
    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        try:
            kernel.freezes()
        except InterlockError as error:
            return JSONResponse({"ready": False, "code": error.code}, 503)
        return JSONResponse({"ready": True})

    return [Route("/healthz", alive, methods=["GET"]), Route("/readyz", ready, methods=["GET"])]
