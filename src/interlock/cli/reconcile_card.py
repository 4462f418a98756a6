"""The card of an action in doubt: what is known, and four answers of equal weight, none chosen."""

from __future__ import annotations

from interlock.cards.headline import NATURE, consequence, headline
from interlock.cards.standing import decided, failure, standing
from interlock.cards.words import ENDINGS, clock
from interlock.cli.card import Page, clocks, draw_context, draw_fields
from interlock.cli.paper import DOUBT, QUIET, STRONG, Sheet
from interlock.display import plain


def draw_reconcile(sheet: Sheet, page: Page) -> None:
    """Draw the card that asks whether it happened."""
    view = page.view
    tool, action = view.about.tool, view.about.action
    sheet.rule("═", DOUBT)
    reach = "".join(f" · {each.value}" for each in sorted(tool.reach))
    sheet.ends([(" IN DOUBT ", "reverse bold"), f" {NATURE[tool.reversibility]}{reach}"], clocks(view))
    sheet.line(
        ("Did it happen?  ", QUIET), (headline(view.about.action.tool, page.arguments, limit=100), STRONG), hang=2
    )
    draw_context(sheet, view)
    sheet.rule()
    draw_fields(sheet, page)
    sheet.rule()
    sheet.row("WHAT IS KNOWN", *_known(page))
    why = plain(view.card.why) or "no outcome was reported"
    error = f" ({failure(action.failure)})" if action.failure else ""
    sheet.row("WHY IN DOUBT", (f"{why}{error}. It was not tried again.", STRONG))
    sheet.row("IF RUN AGAIN", consequence(tool) + " It may then have happened twice.")
    if not view.card.open:
        sheet.row("NOW", (standing(view.about, view.run, view.now), STRONG))
    elif page.verbs:
        _draw_answers(sheet, page)


def _known(page: Page) -> list[str]:
    view = page.view
    action, now = view.about.action, view.now
    lines = [f"{clock(action.proposed_at, now, seconds=True)}  proposed by {plain(action.agent, limit=40)}"]
    lines += [decided(each, now) for each in view.about.decisions]
    if action.claimed_at is not None:
        times = f", try {action.tries}" if action.tries > 1 else ""
        lines.append(f"{clock(action.claimed_at, now, seconds=True)}  a worker started it{times}")
    lines.append(
        f"{clock(view.card.opened_at, now, seconds=True)}  {plain(view.card.why) or 'its outcome stayed unknown'}"
    )
    lines += [
        f"{clock(card.ended_at, now)}  an earlier card about this: {ENDINGS[card.ending]}"
        for card in view.about.cards
        if card.id != view.card.id
        and card.ending is not None
        and card.ended_at is not None
        and card.kind is view.card.kind
    ]
    return lines


def _draw_answers(sheet: Sheet, page: Page) -> None:
    ref, prefix = page.view.card.fingerprint, page.prefix
    result = page.view.about.tool.result_type or "JSON"
    answers = (
        ("It happened, and you know its result", f"--found done --result '{plain(result, limit=40)}'"),
        ("It happened, its result is not known", "--found done"),
        ("It did not happen", "--found failed"),
        ("Run it once more", f"--found run-again{' --full' if page.must_open else ''}"),
    )
    sheet.rule()
    sheet.row("FOUR ANSWERS", "Look where it would have happened first. None of these is recommended.")
    for words, options in answers:
        sheet.line(words, indent=2)
        sheet.raw(f"    {prefix} reconcile {ref} {options}")
