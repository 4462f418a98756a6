"""A run on the terminal: where it stands, its story, its result, and what a person can do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.cli import paper
from interlock.cli.headline import what
from interlock.cli.outlook import next_step, typed
from interlock.cli.paper import AGENT, AGENT_EDGE, DANGER, GOOD, QUIET, STRONG, VALUE_EDGE, Sheet
from interlock.cli.standing import failure, tree_of
from interlock.cli.story import Teller, squeeze, when
from interlock.cli.values import value_of
from interlock.cli.words import clock, count, span
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
_TONES = {"good": GOOD, "danger": DANGER, "quiet": QUIET, "": STRONG}


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
    ago = span(view.now - run.started_at)
    over = run.state in (RunState.FINISHED, RunState.FAILED, RunState.CANCELLED)
    known.append(f"ended {clock(run.updated_at, view.now)}" if over else f"{ago} ago")
    sheet.line((" · ".join(known), QUIET), hang=2)
    sheet.line((_sums(view), QUIET), hang=2)
    sheet.rule()
    _draw_story(sheet, view)
    sheet.rule()
    _draw_end(sheet, view, full=full)
    _draw_next(sheet, view, desk, open_cards, prefix)


def _open(about: ActionView) -> bool:
    return any(card.open for card in about.cards)


def _sums(view: RunView) -> str:
    done = sum(1 for about in view.actions if about.action.state is ActionState.DONE)
    refused = sum(1 for about in view.actions if about.action.state is ActionState.REFUSED)
    said = sum(len(about.decisions) for about in view.actions)
    parts = [
        count(len(view.actions), "action"),
        f"{done} done",
        f"{refused} refused",
        count(said, "decision") + " by people",
    ]
    versions = view.run.versions
    parts += [plain(each, limit=40) for each in (versions.model, versions.environment) if each]
    return " · ".join(parts)


def _draw_story(sheet: Sheet, view: RunView) -> None:
    moments = squeeze(list(Teller(view).tell()))
    rows = [(when(moment, view.now), plain(moment.who, limit=24)) for moment in moments]
    widths = paper.columns(rows, (16, 22) if sheet.width > 70 else (9, 16))
    gap = sum(widths)
    for moment, (at, name) in zip(moments, rows, strict=True):
        style = _TONES[moment.tone]
        text = paper.pieces((moment.text, QUIET if moment.tone == "quiet" else ""))
        sheet.entry([(at, widths[0], QUIET), (name, widths[1], style)], text)
        if moment.agent:
            words = paper.pieces((f"“{moment.agent}”", AGENT), ("  agent's words", QUIET))
            sheet.entry([("", gap, "")], words, AGENT_EDGE)
        for note in moment.notes:
            sheet.line((note, QUIET), indent=gap)
    if not moments:
        sheet.line(("Nothing has happened yet.", QUIET))


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
        asks = "asks whether it happened" if card.kind is InterruptKind.RECONCILE else "waits for you"
        sheet.row("NOW", [(what(about), STRONG), f" {asks}, {span(view.now - card.opened_at)}"])
        sheet.raw(f"  {prefix} show {card.fingerprint}")
    if not waiting:
        poison = ""
        if view.work is not None and view.work.poison:
            poison = f"Going on failed {view.work.attempts} times: {plain(view.work.error, limit=160)}"
        steps = next_step(desk, view.run, prefix, poison=poison)
        for number, step in enumerate(steps):
            if step.startswith("  "):
                sheet.raw(step)
            else:
                sheet.row("NEXT" if number == 0 else "", step)
    undo = [about for about in view.actions if about.action.state is ActionState.DONE and about.tool.compensated]
    if undo and not waiting:
        sheet.row("TO MAKE GOOD", "What is done and can be made good:")
        for about in undo:
            if not about.action.answered_by:
                sheet.raw(f"  {prefix} rollback {typed(about.action.id)}   # {what(about)}")
