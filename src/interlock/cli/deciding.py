"""The rule of deciding at a terminal: a decision names what was seen, and an approval has seen all of it.

A fingerprint is of the digest, so it names what was seen; a card's id does not, and needs `--digest`. What runs
something (approve, modify, run again) shows the card first and asks; folded content must be opened with `--full`
for everything that is outward, costly or not to be undone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from interlock.cli.frame import Global, ask, at_terminal, read_line
from interlock.domain.errors import DecisionError

if TYPE_CHECKING:
    from interlock.cli.paper import Sheet
    from interlock.domain.decision import Receipt, Shown
    from interlock.kernel.desk import ReviewDesk
    from interlock.kernel.views import CardView


def deciding(command: Callable[..., Any]) -> Callable[..., Any]:
    """The argument and options of every decision."""
    options = (
        click.argument("ref"),
        click.option("--digest", metavar="DIGEST", help="The digest that you saw; needed where REF is a card's id."),
        click.option("--note", default="", help="Words that reach the agent."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def running(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of decisions that let something run."""
    options = (
        click.option("--full", is_flag=True, help="Show everything that is folded first."),
        click.option("--yes", is_flag=True, help="Do not ask. REF must name what you saw."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Named:
    """A card that a decision is about, and the digest that it names."""

    view: CardView
    digest: str

    @property
    def id(self) -> str:
        """The card's id."""
        return self.view.card.id


def named(desk: ReviewDesk, ref: str, digest: str | None) -> Named:
    """The card that REF names; refuses an id without the digest that was seen."""
    from interlock.cli.look import find_card

    view = find_card(desk, ref)
    if view is None:
        raise DecisionError("unknown_ref", f"there is no card {ref}", "A decision is about one card: interlock inbox")
    if digest is None and ref.strip() == view.card.id:
        raise DecisionError(
            "digest_missing",
            "a card's id does not say what you saw",
            f"Use its fingerprint, {view.card.fingerprint}, or add --digest.",
        )
    return Named(view, digest or view.card.digest)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was shown before a decision: the evidence, and the text itself."""

    shown: Shown
    text: str = ""


def show_and_ask(
    desk: ReviewDesk,
    state: Global,
    card: Named,
    question: str,
    *,
    full: bool,
    yes: bool,
    add: Callable[[Sheet], None] | None = None,
) -> Seen | None:
    """Show the card, and ask; None where the answer is no. `add` draws what comes below the card.

    Raises `DecisionError`: `not_confirmed` where nobody can be asked, `not_shown` where content stayed folded.
    """
    from interlock.cli import paper
    from interlock.cli.look import draw, page_of
    from interlock.domain.decision import Shown

    view = card.view
    if not view.card.open or card.digest != view.card.digest:
        return Seen(Shown(channel="terminal"))  # it cannot count; the desk says why, and keeps the evidence
    terminal = at_terminal() and not state.json
    ref = view.card.fingerprint
    if not yes and not terminal:
        raise DecisionError(
            "not_confirmed", "nobody is here to be asked", f"Look at it: interlock show {ref}; then add --yes."
        )
    page = page_of(desk, view, state.prefix, full=full)
    page.verbs = False
    sheet = paper.Sheet(paper.console())
    draw(sheet, page)
    if add is not None:
        add(sheet)
    if page.must_open:
        if terminal:
            sheet.show()
        closed = ", ".join(page.folded)
        raise DecisionError(
            "not_shown",
            f"this cannot be let run unseen, and part of it is closed: {closed}",
            "Add --full: it shows everything first.",
        )
    if not state.json:
        sheet.show()
    began = time.monotonic()
    if not yes and not ask(question):
        click.echo("Nothing was decided.")
        return None
    dwell = None if yes else round((time.monotonic() - began) * 1000)
    return Seen(Shown("terminal", sheet.digest, tuple(page.opened), dwell), sheet.plain)


def report(desk: ReviewDesk, state: Global, receipt: Receipt, words: str, *, seen: Seen | None = None) -> int:
    """Say what is true now."""
    from interlock.cli.frame import emit
    from interlock.cli.outlook import frozen, goes_on
    from interlock.display import plain
    from interlock.domain.action import ActionState

    view = desk.card(receipt.decision.interrupt)
    decision = receipt.decision
    if receipt.late:
        words = "The card had expired before; nothing ran. Your no is on record, and changes nothing."
        outlook = ""
    else:
        cleared = view.about.action.state is ActionState.CLEARED
        outlook = frozen(desk, view.run, view.about.action.tool, state.prefix) if cleared else ""
        outlook = outlook or goes_on(desk, view.run, approved=cleared)
    following = desk.card(receipt.next_interrupt).card.fingerprint if receipt.next_interrupt else None
    if state.json:
        from interlock.cards import shapes

        emit(
            {
                "verdict": decision.verdict.value,
                "state": receipt.state.value,
                "late": receipt.late,
                "replayed": receipt.replayed,
                "decision": shapes.decision(decision),
                "card": shapes.card_head(view),
                "next": following,
                "outlook": outlook,
                "shown": _shape(seen),
            }
        )
        return 0
    if receipt.replayed:
        words = f"You had said this already. Nothing changed; the action is {receipt.state.value.replace('_', ' ')}."
        outlook = outlook if receipt.state is ActionState.CLEARED else ""
    click.echo(f"{words} {outlook}".rstrip())
    if decision.note and not receipt.late:
        click.echo(f"The agent gets your words: “{plain(decision.note)}”")
    if following:
        click.echo(f"It is asked again on a new card: {state.prefix} show {following}")
    return 0


def _shape(seen: Seen | None) -> dict[str, object] | None:
    if seen is None or not seen.text:
        return None
    return {"text": seen.text, "digest": seen.shown.render_digest, "opened": list(seen.shown.opened)}


def may_approve(card: Named, note: str) -> str:
    """Refuse at once what no approval fits; ask for the reason where the policy wants one. Answers the note."""
    from interlock.domain.decision import Verdict
    from interlock.domain.interrupt import InterruptKind
    from interlock.domain.lifecycle import verdicts

    action = card.view.about.action
    fitting = verdicts(action)
    if not card.view.card.open or card.view.card.kind is InterruptKind.RECONCILE:
        return note  # the desk says what is wrong with that
    if Verdict.APPROVE not in fitting:
        raise DecisionError(
            "bad_verdict",
            "approve does not answer this card",
            f"It takes {', '.join(each.value for each in fitting)}.",
        )
    if action.ruling.reason_required and not note.strip():
        if not at_terminal():
            raise DecisionError(
                "reason_missing", "the policy wants a reason for letting this run", 'Say why: --note "…".'
            )
        while not (reason := read_line("The policy wants a reason. Why should it run? ").strip()):
            pass
        return reason
    return note
