"""Commands that decide a card: reject, redirect, respond, approve, revoke, reconcile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from interlock.cli.deciding import deciding, may_approve, named, report, running, show_and_ask
from interlock.cli.frame import Global, StoreCommand, desk_of, emit, read_json

if TYPE_CHECKING:
    from interlock.domain.decision import Shown


def _unshown() -> Shown:
    from interlock.domain.decision import Shown

    return Shown(channel="terminal")


@click.command("approve", cls=StoreCommand)
@deciding
@running
def approve(state: Global, ref: str, digest: str | None, note: str, full: bool, yes: bool) -> int:
    """Let exactly what the card shows run, once.

    Shows the card and asks. Where the tool reaches outside, costs, or cannot be undone, long content must be opened
    with --full. With --json: a receipt {"verdict", "state", "late", "replayed", "decision", "card", "next",
    "outlook", "shown"}; it needs --yes.
    """
    with desk_of(state) as desk:
        card = named(desk, ref, digest)
        note = may_approve(card, note)
        seen = show_and_ask(desk, state, card, "Approve this?", full=full, yes=yes)
        if seen is None:
            return 1
        receipt = desk.approve(card.id, digest=card.digest, note=note, shown=seen.shown)
        return report(desk, state, receipt, "Approved.", seen=seen)


@click.command("reject", cls=StoreCommand)
@deciding
def reject(state: Global, ref: str, digest: str | None, note: str) -> int:
    """Do not run it. The same is refused without asking for the rest of the run. With --json: a receipt."""
    with desk_of(state) as desk:
        card = named(desk, ref, digest)
        receipt = desk.reject(card.id, digest=card.digest, note=note, shown=_unshown())
        return report(desk, state, receipt, f"Rejected: {_what(card.view)}. {_then(card.view)}")


@click.command("redirect", cls=StoreCommand)
@deciding
def redirect(state: Global, ref: str, digest: str | None, note: str) -> int:
    """Not this; the agent plans again, knowing the note. With --json: a receipt."""
    with desk_of(state) as desk:
        card = named(desk, ref, digest)
        receipt = desk.redirect(card.id, digest=card.digest, note=note, shown=_unshown())
        return report(desk, state, receipt, f"Redirected: {_what(card.view)}. {_then(card.view)}")


@click.command("respond", cls=StoreCommand)
@deciding
@click.option("--result", required=True, metavar="JSON", help="The result, as JSON of the declared type.")
def respond(state: Global, ref: str, digest: str | None, note: str, result: str) -> int:
    """Answer a question, or give the result yourself: the tool does not run. With --json: a receipt.

    Where the result is text, it needs no quotation marks.
    """
    from interlock.cards.asking import takes_text
    from interlock.cli.asking_card import expected
    from interlock.domain.interrupt import InterruptKind

    with desk_of(state) as desk:
        card = named(desk, ref, digest)
        value = read_json(result, "--result", text=takes_text(card.view), mend=expected(card.view))
        receipt = desk.respond(card.id, digest=card.digest, result=value, note=note, shown=_unshown())
        asked = card.view.card.kind is InterruptKind.QUESTION
        done = "Your answer goes to the agent." if asked else "Your result stands in; the tool does not run."
        return report(desk, state, receipt, done)


@click.command("revoke", cls=StoreCommand)
@deciding
def revoke(state: Global, ref: str, digest: str | None, note: str) -> int:
    """Take an approval back, until it has started; the action waits again. With --json: {"card"}."""
    with desk_of(state) as desk:
        card = named(desk, ref, digest)
        opened = desk.revoke(card.id, digest=card.digest, note=note)
        if state.json:
            from interlock.cards import shapes

            emit({"card": shapes.card_head(desk.card(opened.id))})
        else:
            click.echo(f"Taken back. It waits for a decision again: {state.prefix} show {opened.fingerprint}")
    return 0


@click.command("reconcile", cls=StoreCommand)
@deciding
@running
@click.option(
    "--found",
    required=True,
    type=click.Choice(["done", "failed", "run-again"]),
    help="It happened; it did not; run it once more.",
)
@click.option("--result", metavar="JSON", help="With done: its result, if you know it.")
def reconcile(
    state: Global, ref: str, digest: str | None, note: str, full: bool, yes: bool, found: str, result: str | None
) -> int:
    """Say what happened to an action in doubt.

    `done` without a result is fine, but later passes cannot read what is not known. `run-again` shows the card and
    asks, like approve. With --json: a receipt.
    """
    from interlock.cards.asking import takes_text
    from interlock.cli.asking_card import expected

    if result is not None and found != "done":
        raise click.UsageError("--result belongs to --found done")
    with desk_of(state) as desk:
        card = named(desk, ref, digest)
        given: dict[str, Any] = {}
        if result is not None:
            given = {"result": read_json(result, "--result", text=takes_text(card.view), mend=expected(card.view))}
        seen = None
        if found == "run-again":
            seen = show_and_ask(desk, state, card, "Run it again? It may then have happened twice.", full=full, yes=yes)
            if seen is None:
                return 1
        shown = seen.shown if seen else _unshown()
        receipt = desk.reconcile(
            card.id, digest=card.digest, found=found.replace("-", "_"), note=note, shown=shown, **given
        )
        words = {
            "done": "Recorded: it happened.",
            "failed": "Recorded: it did not happen.",
            "run-again": "It is to run again.",
        }
        return report(desk, state, receipt, words[found], seen=seen)


def _then(view: Any) -> str:
    """What follows from a no: of a pause that a framework made by itself, only that it hears of it."""
    from interlock.cards.asking import only_shown

    return "The framework that paused is told." if only_shown(view) else "It will not run."


def _what(view: Any) -> str:
    from interlock.cards.headline import what

    return what(view.about)
