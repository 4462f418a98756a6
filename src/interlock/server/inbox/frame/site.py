"""The site: what every handler of a page needs, and what stands around each of them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from anyio import to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from interlock.cards.asking import takes_text
from interlock.cards.headline import what_card
from interlock.cards.standing import state_of
from interlock.cards.words import ENDINGS, count, deadline, label, span, until, verb, who
from interlock.domain.errors import CallError, DecisionError, InterlockError, RunError, StoreError
from interlock.server.inbox.frame.drawing import drawn
from interlock.server.inbox.frame.html import ago, already, moment, shown, twin
from interlock.server.inbox.frame.static_files import StaticFiles
from interlock.server.sessions import session_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from interlock.kernel import Kernel
    from interlock.kernel.desk import ReviewDesk
    from interlock.kernel.views import CardView
    from interlock.server.security import Border
    from interlock.server.sessions import Session

T = TypeVar("T")
log = logging.getLogger("interlock.server")

SCREENS = (("Inbox", "/"), ("Runs", "/runs"), ("Ledger", "/ledger"), ("Policy", "/policy"))
"""The screens in the bar at the top."""


FILTERS: dict[str, Callable[..., Any]] = {
    "ago": ago,
    "already": already,
    "count": count,
    "drawn": drawn,
    "label": label,
    "moment": moment,
    "shown": shown,
    "span": span,
    "twin": twin,
    "verb": verb,
    "who": who,
}
"""What templates may do with a value. None of them lets a text of an agent through unescaped."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of a person who is signed in."""

    request: Request
    site: Site
    session: Session
    desk: ReviewDesk

    def page(self, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        """A page of this person's."""
        return self.site.page(self.request, template, status, session=self.session, **context)

    def query(self, name: str) -> str:
        """A parameter of the address, "" where it is not there."""
        return self.request.query_params.get(name, "")


Handler = Callable[[Visit], Awaitable[Response]]


class Site:
    """Holds the kernel, the border and the templates; `page` makes a page of a template."""

    def __init__(self, kernel: Kernel, border: Border, tips: Callable[[CardView | None], str] | None = None) -> None:
        self.kernel = kernel
        self.border = border
        self.files = StaticFiles()
        self._templates = Environment(
            loader=PackageLoader("interlock.server.inbox", ""),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates.filters.update(FILTERS)
        names: dict[str, Any] = {
            "static": self.files.url,
            "screens": SCREENS,
            "deadline": deadline,
            "until": until,
            "endings": ENDINGS,
            "takes_text": takes_text,
            "what_card": what_card,
            "state_of": state_of,
            "run_url": self.run_url,
            "tip": tips or _no_tip,
        }
        self._templates.globals.update(names)

    @staticmethod
    def run_url(run: str) -> str:
        """The address of a run; its key may be any text."""
        return f"/runs/{quote(run, safe='')}"

    def page(self, request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        """A page; `session` is among the context where somebody is signed in."""
        context = {"session": None, "path": request.url.path, "stops": (), **context}
        if context["session"] is not None:
            context["stops"] = self.kernel.freezes()
        return HTMLResponse(self.part(template, **context), status)

    def part(self, template: str, **context: Any) -> str:
        """A template filled in, without what stands around it."""
        return self._templates.get_template(template).render(**context)

    def signed_in(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """A handler for people only: whoever is not signed in is asked to; what is refused becomes a page."""

        async def answer(request: Request) -> Response:
            session = session_of(request, self.kernel, self.border)
            if session is None:
                return self._ask_in(request)
            visit = Visit(request, self, session, session.desk(self.kernel))
            try:
                return await handler(visit)
            except InterlockError as error:
                return visit.page("fault/page.html", status_of(error), error=error)

        return answer

    def _ask_in(self, request: Request) -> Response:
        if request.headers.get("hx-request"):  # a part of a page: the whole page has to go there
            return Response(status_code=403, headers={"hx-redirect": "/signin"})
        back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        where = "/signin" if request.method == "POST" or back == "/" else f"/signin?next={quote(back)}"
        return RedirectResponse(where, 303)


def _no_tip(_: CardView | None) -> str:
    return ""


def status_of(error: InterlockError) -> int:
    """The HTTP status that fits an error."""
    known = {
        "not_authenticated": 401,
        "not_allowed": 403,
        "wrong_form": 403,
        "bad_form": 400,
        "unknown_interrupt": 404,
        "unknown_run": 404,
        "unknown_action": 404,
        "unknown_event": 404,
        "unknown_ref": 404,
        "bad_edit": 422,
        "bad_result": 422,
        "bad_decision": 422,
        "note_missing": 422,
        "reason_missing": 422,
        "not_shown": 422,
    }
    if error.code in known:
        return known[error.code]
    if isinstance(error, StoreError):
        return 503
    return 409 if isinstance(error, (DecisionError, RunError, CallError)) else 500


async def apart(call: Callable[[], T]) -> T:
    """Make a call that waits for a commit in a thread of its own, so that other people are not kept waiting."""
    return await to_thread.run_sync(call)


__all__ = ["Handler", "Site", "Visit", "apart", "status_of"]
