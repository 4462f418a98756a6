"""`interlock show` and `interlock runs`: cards and runs, to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from interlock.cli.frame import Global, StoreCommand, desk_of, emit

if TYPE_CHECKING:
    from interlock.cli.card import Page
    from interlock.kernel.desk import ReviewDesk
    from interlock.kernel.views import CardView

STATES = ("running", "waiting", "finished", "failed", "cancelled", "diverged", "needs_attention")


@click.command("show", cls=StoreCommand)
@click.argument("ref")
@click.option("--full", is_flag=True, help="Open everything that is folded.")
@click.option("--exact", is_flag=True, help="The canonical bytes that the digest is of, and the digest.")
def show(state: Global, ref: str, full: bool, exact: bool) -> int:
    """A card (REF is its fingerprint or id), or the story of a run (REF is its key or id).

    What is sensitive or looks like a secret is hidden; `interlock reveal` shows it. With --json: a card (arguments in
    plain JSON, with `typed` beside them), or {"run", "actions", "events"}; --exact adds `document`.
    """
    with desk_of(state) as desk:
        view = find_card(desk, ref)
        if view is None:
            return _show_run(desk, state, ref, full=full)
        if state.json:
            from interlock.cards import shapes
            from interlock.cards.whole import gather

            emit(shapes.card_whole(gather(desk, view, full=True), exact=exact))
        elif exact:
            _show_exact(view)
        else:
            page = page_of(desk, view, state.prefix, full=full)
            from interlock.cli import paper

            sheet = paper.Sheet(paper.console())
            draw(sheet, page)
            sheet.show()
    return 0


def find_card(desk: ReviewDesk, ref: str) -> CardView | None:
    """The card that REF names, or None where it names none (it may be a run then)."""
    from interlock.domain.errors import DecisionError

    try:
        return desk.find(ref)
    except DecisionError as error:
        if error.code != "unknown_interrupt":
            raise
    try:
        cards = desk.action(ref).cards  # an action is shown by its latest card
    except DecisionError:
        return None
    return desk.card(cards[-1].id) if cards else None


def page_of(desk: ReviewDesk, view: CardView, prefix: str, *, full: bool) -> Page:
    """A card ready to be drawn; large values are put back where it is opened."""
    from interlock.cards.whole import gather
    from interlock.cli.card import Page

    whole = gather(desk, view, full=full)
    return Page(whole.view, whole.arguments, prefix, full, whole.others, whole.knew)


def draw(sheet: object, page: Page) -> None:
    """Draw a card of either kind."""
    from interlock.cli.card import draw_card, is_reconcile
    from interlock.cli.paper import Sheet
    from interlock.cli.reconcile_card import draw_reconcile

    assert isinstance(sheet, Sheet)
    (draw_reconcile if is_reconcile(page.view) else draw_card)(sheet, page)


def _show_exact(view: CardView) -> None:
    from interlock.cards import shapes
    from interlock.cli import paper
    from interlock.display import plain

    sheet = paper.Sheet(paper.console())
    card = view.card
    sheet.row("FINGERPRINT", card.fingerprint)
    sheet.row("DIGEST", card.digest)
    note = "Canonical JSON (RFC 8785). Signs that hide are spelled out, secrets masked."
    document, whole = shapes.document(view)
    if not whole:
        note = "Canonical JSON (RFC 8785), but for what is hidden: the digest is of the values, which are not here."
    sheet.row("DOCUMENT", (note, paper.QUIET))
    sheet.raw(plain(document))
    sheet.show()


def _show_run(desk: ReviewDesk, state: Global, ref: str, *, full: bool) -> int:
    from interlock.domain.errors import RunError

    try:
        view = desk.story(ref)
    except RunError:
        raise RunError(
            "unknown_ref", f"there is no card and no run {ref}", "See: interlock inbox, interlock runs"
        ) from None
    if state.json:
        from interlock.cards import shapes

        emit(shapes.run_whole(view))
        return 0
    from interlock.cli import paper
    from interlock.cli.run_page import draw_run

    sheet = paper.Sheet(paper.console())
    draw_run(sheet, view, desk, prefix=state.prefix, full=full)
    sheet.show()
    return 0


@click.command("runs", cls=StoreCommand)
@click.option(
    "--state", "states", multiple=True, type=click.Choice(STATES), help="Only runs in this state; can be repeated."
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="At most so many runs.")
@click.option("--after", metavar="RUN", help="Go on behind this run.")
def runs(state: Global, states: tuple[str, ...], limit: int, after: str | None) -> int:
    """Runs, the newest first. With --json: {"runs": [...]}."""
    from interlock.domain.run import RunState

    with desk_of(state) as desk:
        found = desk.runs([RunState(each) for each in states], limit, after)
        if state.json:
            from interlock.cards import shapes

            emit({"runs": [shapes.run(row) for row in found]})
            return 0
        from datetime import UTC, datetime

        from interlock.cards.words import clock
        from interlock.cli import paper
        from interlock.cli.run_page import STATES as WORDS
        from interlock.display import plain

        sheet = paper.Sheet(paper.console())
        now = datetime.now(UTC)
        for row in found:
            words, style = WORDS[row.state]
            at = clock(row.updated_at, now)
            sheet.entry([(words.partition(":")[0], 16, style)], paper.pieces((plain(row.id, limit=60), paper.STRONG)))
            job = plain(row.workflow, limit=40) or "a program's own run"
            attention = f" · {plain(row.attention, limit=120)}" if row.attention else ""
            sheet.line((f"{plain(row.agent, limit=40)} · {job} · {at}{attention}", paper.QUIET), indent=16)
        if not found:
            sheet.line("No runs." if not states else "No runs in this state.")
        elif len(found) == limit:
            sheet.line((f"There may be more: --after {found[-1].id}", paper.QUIET))
        else:
            sheet.line((f"The story of one: {state.prefix} show RUN", paper.QUIET))
        sheet.show()
    return 0
