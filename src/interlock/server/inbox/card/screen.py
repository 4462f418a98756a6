"""One card: looking at it, opening what is folded, saying something to it, and what became of that."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from interlock.cards.shapes import document
from interlock.cards.standing import state_of
from interlock.cards.whole import gather
from interlock.domain.decision import Shown
from interlock.domain.errors import DecisionError, InterlockError
from interlock.domain.interrupt import InterruptKind
from interlock.server.forms import Form, read_form
from interlock.server.inbox.card.answers import answer_of
from interlock.server.inbox.card.face import Face, face, line
from interlock.server.inbox.card.form import changed, inputs_of, told
from interlock.server.inbox.frame.site import Visit, apart, status_of
from interlock.server.rules import seen_whole

if TYPE_CHECKING:
    from interlock.domain.decision import Receipt
    from interlock.kernel.views import CardView
    from interlock.server.inbox.frame.site import Site

NEXT = 5
"""So many of the next cards stand beside one."""


def routes(site: Site) -> list[Route]:
    """Everything about one card. Looking is by GET; whatever changes something is a form."""
    handlers = (
        ("/i/{ref}", _look, "GET"),
        ("/i/{ref}/state", _state, "GET"),
        ("/i/{ref}/exact", _exact, "GET"),
        ("/i/{ref}/modify", _edit, "GET"),
        ("/i/{ref}/respond", _answer, "GET"),
        ("/i/{ref}/open", _open, "POST"),
        ("/i/{ref}/reveal", _reveal, "POST"),
        ("/i/{ref}/decide", _decide, "POST"),
        ("/i/{ref}/modify", _modify, "POST"),
        ("/i/{ref}/undo", _undo, "POST"),
    )
    return [Route(path, site.signed_in(handler), methods=[method]) for path, handler, method in handlers]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a page of a card needs beside its face: what was just refused, and what the person had written."""

    error: InterlockError | None = None
    note: str = ""
    revealed: Mapping[str, object] | None = None


def _find(visit: Visit) -> CardView:
    return visit.desk.find(str(visit.request.path_params["ref"]))


def _face(visit: Visit, view: CardView, drawn: Drawn = Drawn()) -> Face:
    kernel = visit.site.kernel
    opened = kernel.opened(view.card.id, visit.session.person)
    return face(gather(visit.desk, view, full=bool(opened)), opened, drawn.revealed)


def _page(visit: Visit, view: CardView, drawn: Drawn = Drawn(), status: int = 200) -> HTMLResponse:
    made = _face(visit, view, drawn)
    queue = [each for each in visit.desk.open(NEXT + 1) if each.card.id != view.card.id][:NEXT]
    return visit.page(
        "card/page.html",
        status,
        face=made,
        view=view,
        about=view.about,
        who_line=line(view),
        shown_mark=_mark(visit, made),
        queue=queue,
        drawn=drawn,
    )


def _mark(visit: Visit, made: Face) -> str:
    """What the form sends back of what was shown: its digest, signed, so that it is evidence and not a claim."""
    digest = made.rendered()
    return f"{digest}.{_signed(visit, digest)}"


def _signed(visit: Visit, digest: str) -> str:
    return hmac.new(visit.session.token.encode(), f"interlock-shown/v1 {digest}".encode(), sha256).hexdigest()


async def _look(visit: Visit) -> Response:
    view = _find(visit)
    if visit.request.path_params["ref"] != view.card.id:
        return RedirectResponse(f"/i/{view.card.id}", 302)
    return _page(visit, view)


async def _state(visit: Visit) -> Response:
    """The part of the page that tells what became of it, for a page that stays open."""
    view = _find(visit)
    known = visit.query("known")
    now = state_of(view)
    if known == now:
        return Response(status_code=204)
    made = _face(visit, view)
    part = visit.site.part(
        "card/state.html", face=made, view=view, about=view.about, session=visit.session, known=known
    )
    return HTMLResponse(part)


async def _exact(visit: Visit) -> Response:
    view = _find(visit)
    text, whole = document(view)
    return visit.page("card/exact.html", view=view, document=text, whole=whole)


async def _open(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    view = _find(visit)
    parts = form.all("part")
    person, digest = visit.session.person, form.one("digest")
    await apart(lambda: visit.site.kernel.open_parts(view.card.id, digest, parts, person))
    return RedirectResponse(f"/i/{view.card.id}#part-{parts[0]}" if len(parts) == 1 else f"/i/{view.card.id}#face", 303)


async def _reveal(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    view = _find(visit)
    paths, digest = form.all("path"), form.one("digest")
    values = await apart(lambda: visit.desk.reveal(view.card.id, digest=digest, path=paths))
    return _page(visit, view, Drawn(revealed=values))


async def _decide(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    view = _find(visit)
    try:
        verb, _, option = form.one("verb").partition(":")
        receipt = await apart(lambda: _said(visit, view, form, verb, option))
    except InterlockError as error:
        return _refused(visit, view, form, error)
    return _then(receipt)


def _then(receipt: Receipt) -> Response:
    return RedirectResponse(f"/i/{receipt.decision.interrupt}", 303)


def _refused(visit: Visit, view: CardView, form: Form, error: InterlockError) -> Response:
    """The card as it is by now, with what was wrong on top and the note still there."""
    return _page(visit, visit.desk.card(view.card.id), Drawn(error, form.one("note")), status_of(error))


def _said(visit: Visit, view: CardView, form: Form, verb: str, option: str) -> Receipt:
    """Give the decision to the desk. Which verdicts fit, and whether the digest is still this one, the store says."""
    desk, card = visit.desk, view.card.id
    digest, note = form.one("digest"), form.one("note").strip()
    shown = shown_of(visit, form, view)
    match verb:
        case "approve":
            seen_whole(visit.site.kernel, visit.desk, view, digest)
            return desk.approve(card, digest=digest, note=note, shown=shown)
        case "reject":
            return desk.reject(card, digest=digest, note=note, shown=shown)
        case "redirect":
            return desk.redirect(card, digest=digest, note=note, shown=shown)
        case "respond":
            result = answer_of(view, form, option)
            return desk.respond(card, digest=digest, result=result, note=note, shown=shown)
        case "found" if option in ("done", "failed", "run_again"):
            if option == "run_again":
                seen_whole(visit.site.kernel, visit.desk, view, digest)
            given: dict[str, Any] = {}
            if option == "done" and form.one("knows") == "yes":
                given = {"result": answer_of(view, form, "")}
            return desk.reconcile(card, digest=digest, found=option, note=note, shown=shown, **given)
        case _:
            raise DecisionError("bad_verdict", "no button of this page says that", "Press one of the buttons.")


def shown_of(visit: Visit, form: Form, view: CardView) -> Shown:
    """The evidence of what was shown: only a mark that this session was given counts."""
    digest, _, signed = form.one("shown").rpartition(".")
    genuine = hmac.compare_digest(signed.encode(), _signed(visit, digest).encode())
    dwell = form.one("dwell")
    opened = visit.site.kernel.opened(view.card.id, visit.session.person)
    return Shown(
        "web",
        digest if genuine else "",
        tuple(sorted(opened)),
        int(dwell) if dwell.isdecimal() and len(dwell) < 10 else None,
    )


async def _edit(visit: Visit) -> Response:
    view = _find(visit)
    if not view.card.open or view.card.kind is InterruptKind.RECONCILE:
        return RedirectResponse(f"/i/{view.card.id}", 302)
    return _edit_page(visit, view, Form({}), None)


def _edit_page(visit: Visit, view: CardView, form: Form, error: InterlockError | None) -> HTMLResponse:
    made = _face(visit, view)
    inputs = _inputs(view)
    if form.values:
        inputs = told(inputs, form, cast("DecisionError | None", error))
    status = status_of(error) if error is not None else 200
    at_field = any(each.error for each in inputs)
    return visit.page(
        "card/modify.html",
        status,
        face=made,
        view=view,
        about=view.about,
        inputs=inputs,
        originals={each.name: each.value or each.peek for each in made.fields},
        who_line=line(view),
        shown_mark=_mark(visit, made),
        error=error,
        at_field=at_field,
        note=form.one("note"),
    )


def _inputs(view: CardView) -> tuple[Any, ...]:
    tool = view.about.tool
    types = cast("Mapping[str, str]", tool.shape.get("types", {}))
    return inputs_of(cast("Mapping[str, Any]", tool.schema), types, view.about.current.arguments)


async def _modify(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    view = _find(visit)
    digest, note = form.one("digest"), form.one("note").strip()
    try:
        changes = changed(_inputs(view), form)
        if not changes and view.card.open and view.card.digest == digest:
            raise DecisionError("bad_edit", "nothing is changed", "Change a value, or go back and approve the card.")
        seen_whole(visit.site.kernel, visit.desk, view, digest)
        shown = replace(shown_of(visit, form, view))
        receipt = await apart(
            lambda: visit.desk.modify(view.card.id, digest=digest, arguments=changes, note=note, shown=shown)
        )
    except InterlockError as error:
        now = visit.desk.card(view.card.id)
        if error.code in ("bad_edit", "edit_denied", "not_shown", "reason_missing", "bad_decision") and now.card.open:
            return _edit_page(visit, now, form, error)
        return _page(visit, now, Drawn(error, note), status_of(error))
    return _then(receipt)


async def _answer(visit: Visit) -> Response:
    view = _find(visit)
    if not view.card.open:
        return RedirectResponse(f"/i/{view.card.id}", 302)
    made = _face(visit, view)
    return visit.page(
        "card/respond.html",
        face=made,
        view=view,
        about=view.about,
        who_line=line(view),
        shown_mark=_mark(visit, made),
    )


async def _undo(visit: Visit) -> Response:
    form = await read_form(visit.request)
    visit.session.sent(form)
    view = _find(visit)
    digest, note = form.one("digest"), form.one("note").strip()
    try:
        opened = await apart(lambda: visit.desk.revoke(view.card.id, digest=digest, note=note))
    except InterlockError as error:
        return _refused(visit, view, form, error)
    return RedirectResponse(f"/i/{opened.id}", 303)
