"""What an operator should know of a store: who works on it, what is stuck, what waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from interlock.canonical import fingerprint
from interlock.domain.interrupt import Interrupt, InterruptKind
from interlock.domain.run import Freeze, Process, Run, RunState, Work
from interlock.ports.store import Page, Rows

RECENT_RUNS = 200
"""How many of the newest runs are looked through for a closed card."""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a store as a whole, at `now` of its clock.

    `alive` are executor processes whose lease runs and that were not seen dead; `gone` are those that
    nobody has buried yet: what they held is not in doubt before somebody does. `stuck` are runs that need a
    person: diverged or needing attention.
    """

    now: datetime
    alive: tuple[Process, ...]
    gone: tuple[Process, ...]
    poison: tuple[Work, ...]
    in_doubt: tuple[Interrupt, ...]
    open_cards: int
    overdue: int
    stuck: tuple[Run, ...]
    freezes: tuple[Freeze, ...]


def health_of(rows: Rows, seen_dead: Callable[[Process], bool]) -> Health:
    """Read all of it in one snapshot; `seen_dead` tells whether a process of this host is certainly gone."""
    alive, gone = living(rows, seen_dead)
    cards = _open(rows)
    return Health(
        now=rows.now,
        alive=alive,
        gone=gone,
        poison=tuple(rows.poison_work(Page(limit=100))),
        in_doubt=tuple(card for card in cards if card.kind is InterruptKind.RECONCILE),
        open_cards=len(cards),
        overdue=sum(1 for card in cards if card.expires_at is not None and card.expires_at <= rows.now),
        stuck=tuple(rows.runs((RunState.DIVERGED, RunState.NEEDS_ATTENTION), Page(limit=100))),
        freezes=tuple(rows.freezes()),
    )


def living(rows: Rows, seen_dead: Callable[[Process], bool]) -> tuple[tuple[Process, ...], tuple[Process, ...]]:
    """The registered processes: those that live, and those that are gone without having been buried."""
    known = rows.processes()
    alive = tuple(row for row in known if row.alive(rows.now) and not seen_dead(row))
    return alive, tuple(row for row in known if row not in alive)


def left_behind(rows: Rows, seen_dead: Callable[[Process], bool]) -> tuple[int, int, int]:
    """How many processes are gone that held something nobody has taken from them yet; their actions, and their runs."""
    held = [
        (len(rows.claims_of_process(row.id)), len(rows.runs_of_process(row.id))) for row in living(rows, seen_dead)[1]
    ]
    held = [each for each in held if any(each)]
    return len(held), sum(actions for actions, _ in held), sum(runs for _, runs in held)


def closed_by_fingerprint(rows: Rows, wanted: str) -> Interrupt | None:
    """The latest closed card with this fingerprint among the newest runs, or None."""
    found: list[Interrupt] = []
    for run in rows.runs((), Page(limit=RECENT_RUNS)):
        for action in rows.actions_of_run(run.id):
            cards = rows.interrupts_of_action(action.id)
            found.extend(card for card in cards if fingerprint(card.digest) == wanted)
    return max(found, key=lambda card: card.opened_at, default=None)


def _open(rows: Rows) -> Sequence[Interrupt]:
    found: list[Interrupt] = []
    page = Page(limit=500)
    while batch := rows.open_interrupts(page):
        found.extend(batch)
        page = Page(limit=500, after=batch[-1].id)
    return found
