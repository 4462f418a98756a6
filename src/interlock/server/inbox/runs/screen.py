"""Runs, and the story of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from interlock.cards.asking import bounds
from interlock.cards.headline import what
from interlock.cards.standing import failure, result
from interlock.domain.action import ActionState
from interlock.domain.errors import InterlockError
from interlock.domain.run import RunState
from interlock.server.forms import read_form
from interlock.server.inbox.frame.html import already
from interlock.server.inbox.frame.site import apart, status_of
from interlock.server.inbox.runs.tale import asker, tale

if TYPE_CHECKING:
    from interlock.kernel.views import RunView
    from interlock.server.inbox.frame.site import Site, Visit

PAGE = 50
STATES = {
    RunState.RUNNING: ("Running", "run", ""),
    RunState.WAITING: ("Waiting", "clock", "costly"),
    RunState.FINISHED: ("Finished", "done", "good"),
    RunState.FAILED: ("Failed", "cross", "final"),
    RunState.CANCELLED: ("Cancelled", "cross", ""),
    RunState.DIVERGED: ("Stopped: its code took another way", "warn", "final"),
    RunState.NEEDS_ATTENTION: ("Needs a person", "warn", "final"),
}
RETRIED = (RunState.FAILED, RunState.DIVERGED, RunState.NEEDS_ATTENTION)
OVER = (RunState.FINISHED, RunState.CANCELLED)


def routes(site: Site) -> list[Route]:
    """The list, one run, and what can be done with it."""
    handlers = (
        ("/runs", _list, "GET"),
        ("/runs/{run:path}/cancel", _cancel, "POST"),
        ("/runs/{run:path}/retry", _retry, "POST"),
        ("/runs/{run:path}/rollback", _rollback, "POST"),
        ("/runs/{run:path}/state", _state, "GET"),
        ("/runs/{run:path}", _look, "GET"),
    )
    return [Route(path, site.signed_in(handler), methods=[method]) for path, handler, method in handlers]


async def _list(visit: Visit) -> Response:
    wanted = visit.query("state")
    states = [RunState(wanted)] if wanted in list(RunState) else []
    runs = visit.desk.runs(states, PAGE, visit.query("after") or None)
    return visit.page(
        "runs/list.html",
        runs=runs,
        now=visit.site.kernel.now(),
        states=STATES,
        wanted=wanted,
        more=runs[-1].id if len(runs) == PAGE else "",
    )


async def _look(visit: Visit) -> Response:
    return _page(visit, visit.desk.story(visit.request.path_params["run"]))


def _page(visit: Visit, view: RunView, error: InterlockError | None = None) -> HTMLResponse:
    run = view.run
    undo = [
        (about.action.id, already(what(about)))
        for about in view.actions
        if about.action.state is ActionState.DONE and about.tool.compensated and about.action.claimed_at
    ]
    return visit.page(
        "runs/page.html",
        status_of(error) if error is not None else 200,
        view=view,
        run=run,
        entries=tale(view),
        asker=asker(view),
        state=STATES[run.state],
        states=STATES,
        key=_key(view),
        result=already(result(run.result, 400)) if run.result is not None else "",
        failure=already(failure(run.failure, 400)) if run.failure is not None else "",
        bounds=bounds(run.ticket) if run.ticket is not None else None,
        cards=[(card, already(what(about))) for about in view.actions for card in about.cards if card.open],
        undo=undo,
        may_retry=run.state in RETRIED,
        may_cancel=run.state not in OVER,
        error=error,
    )


def _key(view: RunView) -> str:
    return f"{view.run.state.value}.{len(view.events)}"


async def _state(visit: Visit) -> Response:
    """Whether the page still tells all: nothing where it does, else a line that says so."""
    view = visit.desk.story(visit.request.path_params["run"])
    known = visit.query("known")
    if known == _key(view):
        return Response(status_code=204)
    return HTMLResponse(visit.site.part("runs/news.html", run=view.run, key=known, changed=True))


async def _cancel(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    run, reason = visit.request.path_params["run"], form.one("reason").strip()
    return await _do(visit, run, lambda: visit.desk.cancel(run, reason))


async def _retry(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    run, accept = visit.request.path_params["run"], form.one("accept") == "yes"
    return await _do(visit, run, lambda: visit.desk.retry(run, accept_divergence=accept))


async def _rollback(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    run, action = visit.request.path_params["run"], form.one("action")
    return await _do(visit, run, lambda: visit.desk.rollback(action))


async def _do(visit: Visit, run: str, call: object) -> Response:
    assert callable(call)
    try:
        await apart(call)
    except InterlockError as error:
        return _page(visit, visit.desk.story(run), error)
    return RedirectResponse(visit.site.run_url(run), 303)
