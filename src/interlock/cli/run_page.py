"""A run on the terminal: where it stands, its story, its result, and what a person can do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.cards.headline import what
from interlock.cards.standing import failure, tree_of
from interlock.cards.story import Moment, Teller
from interlock.cards.values import value_of
from interlock.cards.words import clock, count, span
from interlock.cli.outlook import next_step, typed
from interlock.cli.paper import DANGER, GOOD, QUIET, STRONG, VALUE_EDGE, Sheet
from interlock.cli.run_parts import Values, draw_action, draw_knew, draw_moments
from interlock.display import plain
from interlock.domain.action import ActionState
from interlock.domain.interrupt import InterruptKind
from interlock.domain.run import RunState
from interlock.kernel.views import ActionView, RunView

if TYPE_CHECKING:
    from interlock.kernel.desk import ReviewDesk

STATES = {
    RunState.RUNNING: ("running", STRONG),
    RunState.WAITING: ("waiting", STRONG),
    RunState.FINISHED: ("finished", GOOD),
    RunState.FAILED: ("failed", DANGER),
    RunState.CANCELLED: ("cancelled", QUIET),
    RunState.DIVERGED: ("stopped: its code took another way", DANGER),
    RunState.NEEDS_ATTENTION: ("needs a person", DANGER),
}


def draw_run(sheet: Sheet, view: RunView, desk: ReviewDesk, *, prefix: str, full: bool) -> None:
    """Draw the page of a run."""
    run = view.run
    words, style = STATES[run.state]
    open_cards = [about for about in view.actions if _open(about)]
    if run.state is RunState.WAITING:
        words = "waits for a person" if open_cards else "waits to go on"
    sheet.rule("━", STRONG)
    sheet.ends([("Run ", QUIET), (plain(run.workflow or run.id, limit=60), STRONG)], [(words, style)])
    known = [plain(run.agent, limit=40), f"run {plain(run.id, limit=60)}", f"started {clock(run.started_at, view.now)}"]
    over = run.state in (RunState.FINISHED, RunState.FAILED, RunState.CANCELLED)
    known.append(f"{span(view.now - run.started_at)} ago")
    if over:
        known.append(f"took {span(run.updated_at - run.started_at)}")
    sheet.line((" · ".join(known), QUIET), hang=2)
    sheet.line((_sums(view), QUIET), hang=2)
    sheet.rule()
    values = Values(full=full)
    draw_knew(sheet, view, values)
    moments: dict[str, list[Moment]] = {}
    for moment in Teller(view, full=full).tell():
        moments.setdefault(moment.action, []).append(moment)
    for number, about in enumerate(view.actions, 1):
        sheet.rule("┄", QUIET)
        draw_action(sheet, number, about, moments.get(about.action.id, []), view.now, values)
    if not view.actions:
        sheet.row("", ("It has proposed nothing that could change anything.", QUIET))
    sheet.rule()
    draw_moments(sheet, "ENDED" if over else "SO FAR", moments.get("", []), view.now)
    _draw_end(sheet, view, full=full)
    _draw_next(sheet, view, desk, open_cards, prefix)
    if values.cut:
        sheet.row("▸ CUT", "Long values are cut here; to see them whole:")
        sheet.raw(f"  {prefix} show {typed(run.id)} --full")


def _open(about: ActionView) -> bool:
    return any(card.open for card in about.cards)


def _sums(view: RunView) -> str:
    answered = [
        about for about in view.actions if about.action.state is ActionState.DONE and not about.action.claimed_at
    ]
    states = [about.action.state for about in view.actions if about not in answered]
    named = (
        ("done", ActionState.DONE),
        ("refused", ActionState.REFUSED),
        ("in doubt", ActionState.IN_DOUBT),
        ("waiting", ActionState.HELD),
        ("undone", ActionState.ROLLED_BACK),
    )
    counted = [f"{states.count(state)} {word}" for word, state in named if state in states]
    counted += [f"{len(answered)} answered by people"] if answered else []
    said = sum(len(about.decisions) for about in view.actions)
    return " · ".join([count(len(view.actions), "action"), *counted, count(said, "decision") + " by people"])


def _draw_end(sheet: Sheet, view: RunView, *, full: bool) -> None:
    run = view.run
    if run.result is not None and run.state in (RunState.FINISHED, RunState.NEEDS_ATTENTION):
        value = value_of("", tree_of(run.result))
        shown = value.whole if full or not value.folded else value.short or ""
        sheet.row("RESULT", shown, edge=VALUE_EDGE)
        if value.folded and not full:
            sheet.row("", ("▸ closed; --full opens it", QUIET))
    if run.state is RunState.FAILED:
        sheet.row("FAILURE", (failure(run.failure), DANGER))
    if run.attention:
        sheet.row("WHY", (plain(run.attention, limit=400), DANGER))


def _draw_next(sheet: Sheet, view: RunView, desk: ReviewDesk, waiting: list[ActionView], prefix: str) -> None:
    for about in waiting:
        card = next(card for card in about.cards if card.open)
        doubt = card.kind is InterruptKind.RECONCILE
        since = f" · {span(view.now - card.opened_at)} so far"
        asks = " is in doubt; a person is asked whether it happened" if doubt else " waits for you"
        sheet.row("NOW", [(what(about), STRONG), asks + since])
        sheet.raw(f"  {prefix} show {card.fingerprint}")
    if not waiting:
        poison = ""
        if view.work is not None and view.work.poison:
            poison = f"Going on failed {count(view.work.attempts, 'time')}: {plain(view.work.error, limit=160)}"
        steps = next_step(desk, view.run, prefix, poison=poison)
        for number, step in enumerate(steps):
            if step.startswith("  "):
                sheet.raw(step)
            else:
                sheet.row("NEXT" if number == 0 else "", step)
    undo = [
        about
        for about in view.actions
        if about.action.state is ActionState.DONE and about.tool.compensated and about.action.claimed_at
    ]
    if undo and not waiting:
        sheet.row("UNDO", "What is done and can be undone, or made good:")
        for about in undo:
            sheet.raw(f"  {prefix} rollback {typed(about.action.id)}   # {what(about)}")
