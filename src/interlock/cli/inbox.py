"""`interlock inbox`: what waits for a person, in bands that spend attention where it matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from interlock.cli.frame import Global, StoreCommand, desk_of, emit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interlock.cli.paper import Sheet
    from interlock.kernel.desk import ReviewDesk
    from interlock.kernel.views import CardView

PAGE = 200
REFRESH_S = 15.0


@click.command("inbox", cls=StoreCommand)
@click.option("--watch", is_flag=True, help="Stay, and show it again whenever something changes.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=PAGE, show_default=True, help="At most so many cards.")
def inbox(state: Global, watch: bool, limit: int) -> int:
    """What waits for a person, the riskiest first.

    A card cannot be decided here: open it with `interlock show FINGERPRINT`. With --json: {"now", "total", "cards"};
    with --watch as well, one such object a line for each change.
    """
    with desk_of(state) as desk:
        if watch:
            return _watch(desk, state, limit)
        cards, more = _open_cards(desk, limit)
        if state.json:
            emit(_shape(cards))
        else:
            _print(desk, cards, state.prefix, more)
    return 0


def _open_cards(desk: ReviewDesk, limit: int) -> tuple[Sequence[CardView], bool]:
    from interlock.cards.words import overdue

    found: list[CardView] = []
    after = None
    while len(found) <= limit:
        batch = desk.open(min(PAGE, limit + 1), after)
        found.extend(view for view in batch if not overdue(view.card, view.now))  # they wait for nobody any more
        if len(batch) < min(PAGE, limit + 1):
            break
        after = batch[-1].card.id
    return found[:limit], len(found) > limit


def _shape(cards: Sequence[CardView]) -> dict[str, object]:
    from interlock.cards import shapes

    return {
        "now": shapes.instant(cards[0].now) if cards else None,
        "total": len(cards),
        "cards": [{"band": _band(view)[0], **shapes.card_head(view)} for view in cards],
    }


def _print(desk: ReviewDesk, cards: Sequence[CardView], prefix: str, more: bool) -> None:
    from interlock.cli import paper
    from interlock.cli.outlook import stopped

    sheet = paper.Sheet(paper.console())
    for stop in desk.freezes():
        sheet.line((stopped(stop, prefix), paper.DANGER), hang=2)
    dead = _dead(desk)
    if dead:
        sheet.line((dead, paper.DANGER), hang=2)
    draw_inbox(sheet, cards, prefix, more=more)
    sheet.show()


def _dead(desk: ReviewDesk) -> str:
    """What processes left behind that died, and who looks after it; "" where there is nothing of the kind."""
    from interlock.cards.words import count
    from interlock.cli.outlook import START_ONE

    processes, actions, runs = desk.left_behind()
    if not processes:
        return ""
    left = [count(number, noun) for number, noun in ((actions, "started action"), (runs, "run")) if number]
    return (
        f"! {count(processes, 'process is', 'processes are')} gone and left {' and '.join(left)} behind. "
        f"The next worker looks after that: {START_ONE}"
    )


def _watch(desk: ReviewDesk, state: Global, limit: int) -> int:
    """Show the inbox anew on every change; Ctrl-C ends it."""
    import sys
    import time

    terminal = sys.stdout.isatty() and not state.json
    seen: object = None
    drawn = 0.0
    while True:
        cards, more = _open_cards(desk, limit)
        now_seen = [view.card.id for view in cards]
        if now_seen != seen or (terminal and time.monotonic() - drawn >= REFRESH_S):
            seen, drawn = now_seen, time.monotonic()
            if state.json:
                emit(_shape(cards), compact=True)
            else:
                if terminal:
                    click.clear()
                _print(desk, cards, state.prefix, more)
                click.echo("Ctrl-C ends it." if terminal else "")
            sys.stdout.flush()
        desk.wait_for_change(1.0)


def _band(view: CardView) -> tuple[str, str, str, str, str]:
    """Key, title, what it means, rule and style of the band that a card belongs to."""
    from interlock.cards.asking import only_shown
    from interlock.cli import paper
    from interlock.domain.interrupt import InterruptKind
    from interlock.domain.tool import Reversibility

    tool = view.about.tool
    if view.card.kind is InterruptKind.RECONCILE:
        return "in_doubt", "IN DOUBT", "started, and nobody knows whether it happened", "═", paper.DOUBT
    if view.card.kind is InterruptKind.QUESTION:
        return "question", "QUESTIONS", "an agent waits for an answer", "─", paper.STRONG
    if only_shown(view):
        return "observed", "OBSERVED", "a framework pauses by itself; the answer is passed on", "─", paper.STRONG
    if tool.worst is Reversibility.IRREVERSIBLE:
        return "irreversible", "IRREVERSIBLE", "once it runs, nobody can take it back", "━", paper.DANGER
    if tool.worst is Reversibility.COMPENSABLE or tool.reach or tool.cost is not None:
        return "costly", "COSTLY", "can be made good by another act, at a price", "─", paper.STRONG
    return "other", "THE REST", "can be undone", "┄", ""


_ORDER = ("in_doubt", "irreversible", "costly", "question", "observed", "other")


def draw_inbox(sheet: Sheet, cards: Sequence[CardView], prefix: str, *, more: bool = False) -> None:
    """Draw the list: bands in their order, in each the oldest first."""
    from interlock.cards.words import count
    from interlock.cli import paper

    if not cards:
        sheet.line(("Nothing waits for you.", paper.STRONG))
        sheet.line("When an agent wants to do something that needs a person, it appears here.")
        sheet.raw(f"Stay and watch: {prefix} inbox --watch")
        return
    soon = [view for view in cards if view.card.expires_at and (view.card.expires_at - view.now).total_seconds() < 3600]
    waits = "1 waits for you." if len(cards) == 1 else f"{len(cards):,} wait for you."
    due = f" {count(len(soon), 'is', 'are')} due within the hour." if soon else ""
    sheet.line(("Inbox", paper.STRONG), f"  {waits}{due}")
    sheet.blank()
    for key in _ORDER:
        band = [view for view in cards if _band(view)[0] == key]
        if band:
            _, title, meaning, sign, style = _band(band[0])
            sheet.rule(sign, style)
            sheet.line((title, style), (f"  {meaning}", paper.QUIET))
            for view in band:
                _draw_row(sheet, view)
            sheet.blank()
    if more:
        sheet.line((f"More wait than the {len(cards):,} shown: --limit shows more.", paper.STRONG))
    sheet.raw(f"Open one: {prefix} show FINGERPRINT")


def _draw_row(sheet: Sheet, view: CardView) -> None:
    """Two lines: what and for how long; whose, and the one fact that matters."""
    from interlock.cards.headline import what
    from interlock.cards.words import deadline, span
    from interlock.cli import paper
    from interlock.display import plain

    wide = sheet.width > 70
    expires = view.card.expires_at
    left = f"expires in {span(expires - view.now)}" if expires and expires > view.now else deadline(view.card, view.now)
    waits = f"waits {span(view.now - view.card.opened_at)} · {left}"
    head: list[paper.Piece] = [
        (view.card.fingerprint, paper.STRONG),
        "  ",
        (what(view.about, limit=40 if wide else 30), paper.STRONG),
    ]
    sheet.ends(head, [(waits, "")] if wide else [], indent=2)
    run = f"run …{view.run.id[-8:]}" if _made_up(view.run.id) else f"run {plain(view.run.id, limit=24)}"
    job = f"{plain(view.run.workflow, limit=24)}, {run}" if view.run.workflow else run
    whose = f"{plain(view.about.action.agent, limit=30)} · {job}"
    fact, style = _fact(view)
    if wide:
        sheet.line((whose, paper.QUIET), (f"   {fact}" if fact else "", style), indent=13)
        return
    if fact:
        sheet.line((fact, style), indent=13)
    sheet.line((whose, paper.QUIET), indent=13)
    sheet.line((waits, paper.QUIET), indent=13)


def _made_up(run: str) -> bool:
    """Whether a run has the id that we gave it, of which the end is enough here, and no key of its own."""
    return len(run) == 36 and set(run) <= set("0123456789abcdef-")


def _fact(view: CardView) -> tuple[str, str]:
    """The one thing to know before opening the card."""
    from interlock.cards.headline import one_fact
    from interlock.cards.values import disguised, impostor, texts
    from interlock.cli import paper
    from interlock.display import plain
    from interlock.domain.interrupt import InterruptKind

    about = view.about
    strings = [text for tree in about.current.arguments.values() for text in texts(tree)]
    reasons = {reason.code: reason.words for reason in about.action.ruling.reasons}
    checks: tuple[tuple[Callable[[], bool], str], ...] = (
        (lambda: view.card.kind is InterruptKind.RECONCILE, f"! {plain(view.card.why, limit=60)}"),
        (lambda: any(map(impostor, strings)), "! a name that looks like another"),
        (lambda: any(map(disguised, strings)), "! text that would hide or mislead"),
        (lambda: bool(view.freezes), "! frozen"),
        (lambda: "suspected_duplicate" in reasons, f"! {plain(reasons.get('suspected_duplicate', ''), limit=50)}"),
        (lambda: view.card.previous is not None, f"! asked again: {plain(view.card.why, limit=50)}"),
        (lambda: about.action.attempt > 1, f"! attempt {about.action.attempt}"),
    )
    found = next((words for holds, words in checks if holds()), "")
    return (found, paper.STRONG) if found else (one_fact(about), "")
