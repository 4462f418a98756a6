"""Commands about runs and stops: freeze, release, cancel, retry, rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from interlock.cli.frame import Global, StoreCommand, ask, at_terminal, desk_of, emit

if TYPE_CHECKING:
    from interlock.kernel.desk import ReviewDesk

LOOKED_AT = 20_000
"""So many of the latest events are looked at for a name before we say that it is unknown."""

SCOPES = click.Choice(["all", "agent", "tool", "run"])


def _scope(scope: str, name: str | None) -> str:
    if (scope == "all") is (name is not None):
        raise click.UsageError("say all, or agent, tool or run with a NAME")
    return name or ""


def _subject(scope: str, name: str) -> str:
    from interlock.display import plain

    return "everything" if scope == "all" else f"{scope} {plain(name, limit=60)}"


@click.command("freeze", cls=StoreCommand)
@click.argument("scope", type=SCOPES)
@click.argument("name", required=False)
@click.option("--reason", default="", help="Why; everybody who decides sees it.")
def freeze(state: Global, scope: str, name: str | None, reason: str) -> int:
    """Stop everything, or one agent, tool or run, before its next action.

    What is executing goes on; nothing new starts before the release, and approvals keep. A name that this store has not
    seen is frozen all the same, and you are warned. With --json: {"freeze", "warning"}.
    """
    name = _scope(scope, name)
    with desk_of(state) as desk:
        stop = desk.freeze(scope, name, reason)
        unknown = _unknown(desk, scope, name)
        if state.json:
            from interlock.cards import shapes

            emit({"freeze": shapes.freeze(stop), "warning": unknown or None})
        else:
            from interlock.cli.outlook import typed

            click.echo(f"Frozen: {_subject(scope, name)}. What is executing goes on; nothing new starts.")
            if unknown:
                click.echo(f"Warning: {unknown}")
            click.echo(f"Lift it: {state.prefix} release {scope}{' ' + typed(name) if name else ''}")
    return 0


def _unknown(desk: ReviewDesk, scope: str, name: str) -> str:
    """A warning where nothing of this name is known among what happened last, "" otherwise."""
    from difflib import get_close_matches
    from itertools import islice

    from interlock.display import plain
    from interlock.domain.errors import RunError

    if scope == "run":
        try:
            desk.run(name)
        except RunError:
            return f"there is no run {plain(name, limit=60)} in this store yet. The freeze holds for one to come."
    if scope in ("all", "run"):
        return ""
    seen: set[str] = set()
    for _, event in islice(desk.ledger_backwards(), LOOKED_AT):
        said = event.body.get(scope)  # `tool` stands in proposals and calls, `agent` in the starts of runs
        if isinstance(said, str):
            seen.add(said)
        if name in seen:
            return ""
    near = get_close_matches(name, seen, 1)
    mend = f" Did you mean {plain(near[0], limit=60)}?" if near else ""
    return f"no {scope} {plain(name, limit=60)} is known in this store.{mend} The freeze holds for one to come."


@click.command("release", cls=StoreCommand)
@click.argument("scope", type=SCOPES)
@click.argument("name", required=False)
def release(state: Global, scope: str, name: str | None) -> int:
    """Lift a freeze; what waited behind it goes on. With --json: {"released", "freezes"}."""
    name = _scope(scope, name)
    with desk_of(state) as desk:
        desk.release(scope, name)
        left = desk.freezes()
        if state.json:
            from interlock.cards import shapes

            emit(
                {"released": {"scope": scope, "name": name or None}, "freezes": [shapes.freeze(each) for each in left]}
            )
        else:
            still = "".join(f" Still frozen: {_subject(each.scope, each.name)}." for each in left)
            click.echo(f"Released: {_subject(scope, name)}.{still}")
    return 0


@click.command("cancel", cls=StoreCommand)
@click.argument("run")
@click.option("--reason", default="", help="Why; it is recorded.")
def cancel(state: Global, run: str, reason: str) -> int:
    """End a run: what has not started is withdrawn, what is executing may finish. With --json: {"run"}."""
    from interlock.cards.words import count
    from interlock.domain.action import ActionState

    with desk_of(state) as desk:
        desk.cancel(run, reason)
        view = desk.story(run)
        if state.json:
            from interlock.cards import shapes

            emit({"run": shapes.run(view.run)})
            return 0
        going = [about for about in view.actions if about.action.state is ActionState.EXECUTING]
        doubt = [about for about in view.actions if about.action.state is ActionState.IN_DOUBT]
        still = "is executing and may still finish" if len(going) == 1 else "are executing and may still finish"
        more = f" {count(len(going), 'action')} {still}." if going else ""
        more += " What is in doubt stays so, and its card open." if doubt else ""
        click.echo(f"Cancelled. What had not started is withdrawn.{more}")
    return 0


@click.command("retry", cls=StoreCommand)
@click.argument("run")
@click.option("--accept-divergence", is_flag=True, help="Go on although the code takes another way than the record.")
def retry(state: Global, run: str, accept_divergence: bool) -> int:
    """Go on with a stopped run from what is recorded; nothing that was done is repeated. With --json: {"run"}."""
    with desk_of(state) as desk:
        row = desk.retry(run, accept_divergence=accept_divergence)
        if state.json:
            from interlock.cards import shapes

            emit({"run": shapes.run(row)})
        else:
            from interlock.cli.outlook import goes_on

            click.echo(f"It is due again. {goes_on(desk, row)}")
    return 0


@click.command("rollback", cls=StoreCommand)
@click.argument("action")
@click.option("--yes", is_flag=True, help="Do not ask.")
def rollback(state: Global, action: str, yes: bool) -> int:
    """Undo an action that is done, by its tool's own means; a worker that has the tool does it.

    ACTION is the id that a run's story names. With --json: {"action", "work"}; it needs --yes.
    """
    from interlock.domain.errors import DecisionError

    with desk_of(state) as desk:
        about = desk.action(action)
        if not about.tool.compensated:
            raise DecisionError(
                "not_compensable", f"{about.action.tool} declares no way to undo it", "Undo it by hand."
            )
        from interlock.cards.headline import what
        from interlock.cli.outlook import typed

        said = what(about)
        if not yes:
            if state.json or not at_terminal():
                raise DecisionError("not_confirmed", "nobody is here to be asked", "Add --yes.")
            click.echo(f"This was done: {said}")
            if not ask("Undo it?"):
                click.echo("Nothing was decided.")
                return 1
        work = desk.rollback(action)
        if state.json:
            from interlock.cards import shapes

            emit({"action": shapes.action(about), "work": work.id})
            return 0
        alive = desk.processes()
        more = (
            "A worker that has the tool does it."
            if alive
            else "No worker is running: start one with interlock worker MODULE:NAME."
        )
        click.echo(f"Asked: {said} is to be undone, and is not yet. {more}")
        click.echo(f"See what became of it: {state.prefix} show {typed(about.action.run)}")
    return 0
