"""`interlock keys`: keys for agents and reviewers that reach the store over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from interlock.cli.frame import Global, StoreCommand, desk_of, emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.domain.credential import Credential
    from interlock.kernel import Kernel


@click.command("keys", cls=StoreCommand)
@click.option("--agent", metavar="NAME", help="Make a key for this agent. It proposes and executes, and never decides.")
@click.option("--reviewer", metavar="NAME", help="Make a key for this person. It decides.")
@click.option("--label", default="", help="Words by which you know it again.")
@click.option("--days", type=click.IntRange(1, 3650), default=90, show_default=True, help="How long it holds.")
@click.option("--end", metavar="ID", help="End a key, a session or a link: it is of no use from now on.")
def keys(state: Global, agent: str | None, reviewer: str | None, label: str, days: int, end: str | None) -> int:
    """The keys and sessions that hold; or make one, or end one.

    A key is shown once, when it is made: what is kept of it cannot be turned back into it. With --json: {"keys"}, or
    {"id", "token"}, or {"ended"}.
    """
    from interlock.compose import open_kernel

    if sum(each is not None for each in (agent, reviewer, end)) > 1:
        raise click.UsageError("say one of --agent, --reviewer and --end")
    with desk_of(state) as desk:
        person = str(desk.principal)  # whoever may open the desk of this store may make keys for it, and nobody else
    kernel, _ = open_kernel(state.url)
    try:
        if end is not None:
            return _end(kernel, state, end, person)
        if agent is not None or reviewer is not None:
            return _make(kernel, state, agent, reviewer, label, days, person)
        return _list(kernel, state)
    finally:
        kernel.close()


def _make(
    kernel: Kernel, state: Global, agent: str | None, reviewer: str | None, label: str, days: int, person: str
) -> int:
    from datetime import timedelta

    from interlock.domain.credential import CredentialKind

    kind = CredentialKind.AGENT_KEY if agent is not None else CredentialKind.REVIEWER_KEY
    made = kernel.issue(kind, agent or reviewer or "", by=person, authn="key", label=label, lasts=timedelta(days=days))
    if state.json:
        emit({"id": made.credential.id, "token": made.token})
        return 0
    click.echo("This is the only time that it is shown:")
    click.echo(f"  {made.token}")
    variable = "the agent's process" if agent is not None else "the reviewer's program"
    click.echo(f"Set INTERLOCK_CREDENTIAL to it in {variable}, and INTERLOCK_URL to the server's address.")
    return 0


def _end(kernel: Kernel, state: Global, end: str, person: str) -> int:
    ended = kernel.end_credential(end, person)
    if state.json:
        emit({"ended": ended})
    else:
        click.echo("It is of no use any more." if ended else "It had ended before.")
    return 0


def _list(kernel: Kernel, state: Global) -> int:
    from interlock.domain.credential import CredentialKind

    found = [each for kind in CredentialKind for each in kernel.credentials(kind)]
    if state.json:
        emit({"keys": [_shape(each) for each in found]})
        return 0
    _print(found, kernel)
    return 0


def _print(found: Sequence[Credential], kernel: Kernel) -> None:
    from interlock.cards.words import clock
    from interlock.cli import paper
    from interlock.display import plain

    sheet = paper.Sheet(paper.console())
    now = kernel.now()
    for each in found:
        until = f"until {clock(each.expires_at, now)}" if each.expires_at else "until it is ended"
        over = not each.holds(now)
        words = f"{each.kind.value.replace('_', ' ')} of {plain(each.holder, limit=40)}"
        sheet.ends([(words, paper.STRONG)], [("over" if over else until, paper.QUIET)])
        label = f" · {plain(each.label, limit=60)}" if each.label else ""
        sheet.line((f"{each.id} · made {clock(each.made_at, now)}{label}", paper.QUIET), indent=2)
    if not found:
        sheet.line("There are none. Make one: interlock keys --agent NAME, or --reviewer NAME.")
    sheet.show()


def _shape(each: Credential) -> dict[str, object]:
    from interlock.cards.shapes import instant

    return {
        "id": each.id,
        "kind": each.kind.value,
        "holder": each.holder,
        "label": each.label or None,
        "made_at": instant(each.made_at),
        "expires_at": instant(each.expires_at),
    }
