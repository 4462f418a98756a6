"""The application: every route, behind one guard."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from interlock.domain.errors import InterlockError
from interlock.server.api.routes import Api
from interlock.server.inbox import screens
from interlock.server.inbox.frame.site import Site
from interlock.server.limits import Limits
from interlock.server.live import Live
from interlock.server.security import Border, Guard

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from interlock.kernel import Kernel
    from interlock.kernel.views import CardView


class Inbox:
    """The pages and the API over a kernel, as an ASGI application."""

    def __init__(
        self,
        kernel: Kernel,
        border: Border,
        limits: Limits | None = None,
        tips: Callable[[CardView | None], str] | None = None,
    ) -> None:
        site = Site(kernel, border, tips)
        self._live = Live(kernel)

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncGenerator[None]:
            with self._live:
                yield

        async def missing(request: Request, _: Exception) -> Response:
            return site.page(request, "fault/missing.html", 404)

        async def broken(request: Request, _: Exception) -> Response:
            return site.page(request, "fault/broken.html", 500)

        routes: list[BaseRoute] = [
            *_health(kernel),
            site.files.route,
            Route("/live", self._live.endpoint(site), methods=["GET"]),
            *screens.routes(site),
            *Api(kernel, self._live).routes(),
        ]
        app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: missing, 500: broken})
        self._app = Guard(app, border, limits or Limits())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._app(scope, receive, send)

    def let_go(self) -> None:
        """End every stream of hints: the server is about to stop."""
        self._live.close()


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
