"""The rows of a store in memory: dictionaries, and the queries over them."""

# ruff: noqa: D102  the port says what each query answers

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar

from interlock.domain.action import Action, ActionState, Revision
from interlock.domain.credential import Credential, CredentialKind, Opening
from interlock.domain.decision import Decision
from interlock.domain.events import MATCHED, Event
from interlock.domain.ids import ActionId, CallKey, CredentialId, DecisionId, EffectHash, InterruptId, ProcessId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import Freeze, Process, Run, RunState, Work
from interlock.ports.store import EVERYTHING, Carded, Change, Page, Queue
from interlock.stores.errors import inconsistent
from interlock.stores.pages import position

T = TypeVar("T")

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
CLAIMED = (ActionState.EXECUTING, ActionState.ROLLING_BACK)


@dataclass(slots=True)
class Shelf:
    """Every row by its key. A shelf with `readers` is not written to: the writer goes on with a copy."""

    runs: dict[str, Run] = field(default_factory=dict[str, Run])
    actions: dict[str, Action] = field(default_factory=dict[str, Action])
    calls: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    revisions: dict[tuple[str, int], Revision] = field(default_factory=dict[tuple[str, int], Revision])
    interrupts: dict[str, Interrupt] = field(default_factory=dict[str, Interrupt])
    decisions: dict[str, Decision] = field(default_factory=dict[str, Decision])
    processes: dict[str, Process] = field(default_factory=dict[str, Process])
    freezes: dict[tuple[str, str], Freeze] = field(default_factory=dict[tuple[str, str], Freeze])
    policies: dict[str, PolicyVersion] = field(default_factory=dict[str, PolicyVersion])
    credentials: dict[str, Credential] = field(default_factory=dict[str, Credential])
    openings: dict[tuple[str, str, str], Opening] = field(default_factory=dict[tuple[str, str, str], Opening])
    work: dict[str, Work] = field(default_factory=dict[str, Work])
    blobs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    events: list[Event] = field(default_factory=list[Event])
    latest: datetime = _LONG_AGO
    readers: int = 0

    def copy(self) -> Shelf:
        """The same rows on another shelf."""
        rows = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("latest", "readers")}
        copies: dict[str, Any] = {name: value.copy() for name, value in rows.items()}
        return Shelf(**copies, latest=self.latest)

    def check(self, change: Change[object]) -> None:
        """Raise `StoreError` `store_inconsistent` where the change does not fit; nothing is written yet."""
        runs = ChainMap(self.runs, {run.id: run for run in change.runs})
        actions = ChainMap(self.actions, {action.id: action for action in change.actions})
        cards = ChainMap(self.interrupts, {card.id: card for card in change.interrupts})
        _demand(all(action.run in runs for action in change.actions), "an action names a run that is not there")
        _demand(
            all(one.action in actions for one in (*change.revisions, *change.interrupts, *change.decisions)),
            "a row names an action that is not there",
        )
        _demand(all(one.interrupt in cards for one in change.decisions), "a decision names a card that is not there")
        _fresh([(one.action, one.number) for one in change.revisions], self.revisions, "a revision")
        _fresh([one.id for one in change.decisions], self.decisions, "a decision")
        calls: dict[tuple[str, str], str] = {}
        for action in change.actions:
            key = (action.run, action.call_key)
            known = self.calls.get(key, calls.setdefault(key, action.id))
            _demand(action.id == known, "two actions stand for the same call")

    def put(self, change: Change[object], now: datetime) -> None:
        """Write a change that was checked."""
        self.runs.update({run.id: run for run in change.runs})
        for action in change.actions:
            self.actions[action.id] = action
            self.calls[action.run, action.call_key] = action.id
        self.revisions.update({(one.action, one.number): one for one in change.revisions})
        self.interrupts.update({card.id: card for card in change.interrupts})
        self.decisions.update({one.id: one for one in change.decisions})
        self.processes.update({one.id: one for one in change.processes})
        for freeze in change.released:
            self.freezes.pop((freeze.scope, freeze.name), None)
        self.freezes.update({(one.scope, one.name): one for one in change.freezes})
        self.policies.update({one.agent: one for one in change.policies})
        self.credentials.update({one.id: one for one in change.credentials})
        for opening in change.openings:
            self.openings.setdefault((opening.interrupt, opening.by, opening.part), opening)
        self.work.update({one.id: one for one in change.work})
        for done in change.work_done:
            self.work.pop(done, None)
        for digest, body in change.blobs.items():
            self.blobs.setdefault(digest, body)
        self.events.extend(change.events)
        self.latest = now


class MemoryRows:
    """`Rows` over a shelf."""

    def __init__(self, shelf: Shelf, now: datetime) -> None:
        self._shelf = shelf
        self._now = now

    @property
    def now(self) -> datetime:
        return self._now

    # Runs and what drives them.

    def run(self, run: RunId) -> Run | None:
        return self._shelf.runs.get(run)

    def runs(self, states: Sequence[RunState], page: Page) -> Sequence[Run]:
        rows = sorted(self._shelf.runs.values(), key=lambda run: (run.started_at, run.id), reverse=True)
        return [run for run in _after(rows, page) if not states or run.state in states][: page.limit]

    def runs_of_process(self, process: ProcessId) -> Sequence[Run]:
        driven = [run for run in self._shelf.runs.values() if run.process == process and run.state is RunState.RUNNING]
        return sorted(driven, key=lambda run: (run.started_at, run.id))

    def unended_run(self, agent: str, thread: str) -> Run | None:
        mine = [
            run for run in self._shelf.runs.values() if (run.agent, run.thread) == (agent, thread) and not run.ended
        ]
        return max(mine, key=lambda run: (run.started_at, run.id), default=None)

    def process(self, process: ProcessId) -> Process | None:
        return self._shelf.processes.get(process)

    def processes(self) -> Sequence[Process]:
        return sorted((one for one in self._shelf.processes.values() if not one.lost), key=lambda one: one.id)

    def policy(self, agent: str) -> PolicyVersion | None:
        return self._shelf.policies.get(agent)

    def freezes(self) -> Sequence[Freeze]:
        return sorted(self._shelf.freezes.values(), key=lambda one: (one.at, one.scope, one.name))

    # Actions and their revisions.

    def action(self, action: ActionId) -> Action | None:
        return self._shelf.actions.get(action)

    def action_of_call(self, run: RunId, call: CallKey) -> Action | None:
        found = self._shelf.calls.get((run, call))
        return None if found is None else self._shelf.actions[found]

    def actions_of_run(self, run: RunId) -> Sequence[Action]:
        ours = [action for action in self._shelf.actions.values() if action.run == run]
        return sorted(ours, key=lambda action: (action.seq, action.id))

    def actions_with_effect(self, run: RunId, effect: EffectHash) -> Sequence[tuple[Action, int]]:
        found = [
            (self._shelf.actions[one.action], one.number)
            for one in self._shelf.revisions.values()
            if one.run == run and one.effect_hash == effect
        ]
        return sorted(found, key=lambda pair: (pair[0].seq, pair[0].id, pair[1]))

    def count_in_run(self, run: RunId, tool: str | None) -> int:
        return sum(1 for one in self._shelf.actions.values() if one.run == run and tool in (None, one.tool))

    def count_calls(self, agent: str, tool: str, since: datetime, most: int) -> int:
        ours = (
            one
            for one in self._shelf.actions.values()
            if one.tool == tool and one.agent == agent and one.proposed_at >= since
        )
        return sum(1 for _ in islice(ours, most))

    def claims_of_process(self, process: ProcessId) -> Sequence[Action]:
        ours = [one for one in self._shelf.actions.values() if one.process == process and one.state in CLAIMED]
        return sorted(ours, key=lambda action: action.id)

    def revision(self, action: ActionId, number: int) -> Revision | None:
        return self._shelf.revisions.get((action, number))

    def revisions(self, action: ActionId) -> Sequence[Revision]:
        ours = [one for one in self._shelf.revisions.values() if one.action == action]
        return sorted(ours, key=lambda revision: revision.number)

    def blob(self, digest: str) -> bytes | None:
        return self._shelf.blobs.get(digest)

    # Cards and what people said.

    def interrupt(self, interrupt: InterruptId) -> Interrupt | None:
        return self._shelf.interrupts.get(interrupt)

    def interrupts_of_action(self, action: ActionId) -> Sequence[Interrupt]:
        ours = [card for card in self._shelf.interrupts.values() if card.action == action]
        return sorted(ours, key=lambda card: (card.opened_at, card.id))

    def open_interrupts(self, page: Page, queue: Queue = EVERYTHING) -> Sequence[Interrupt]:
        rows = sorted(self._shelf.interrupts.values(), key=lambda card: (card.band, card.opened_at, card.id))
        return [card for card in _after(rows, page) if card.open and queue.takes(card)][: page.limit]

    def open_cards(self, page: Page, queue: Queue = EVERYTHING) -> Sequence[Carded]:
        shelf = self._shelf
        return [
            (card, shelf.actions[card.action], shelf.runs[card.run], shelf.revisions[card.action, card.revision])
            for card in self.open_interrupts(page, queue)
        ]

    def count_open(self, queue: Queue, most: int) -> int:
        return len(self.open_interrupts(Page(most), queue))

    def due_interrupts(self, now: datetime, limit: int) -> Sequence[Interrupt]:
        due = [
            (card.expires_at, card.id, card)
            for card in self._shelf.interrupts.values()
            if card.open and card.expires_at is not None and card.expires_at <= now
        ]
        return [card for _, _, card in sorted(due, key=lambda one: one[:2])][:limit]

    def decision(self, decision: DecisionId) -> Decision | None:
        return self._shelf.decisions.get(decision)

    def decisions_of_action(self, action: ActionId) -> Sequence[Decision]:
        ours = [one for one in self._shelf.decisions.values() if one.action == action]
        return sorted(ours, key=lambda decision: (decision.at, decision.id))

    # Who may come in, and what they have looked at.

    def credential(self, credential: CredentialId) -> Credential | None:
        return self._shelf.credentials.get(credential)

    def credentials(self, kind: CredentialKind, page: Page) -> Sequence[Credential]:
        rows = sorted(self._shelf.credentials.values(), key=lambda one: (one.made_at, one.id), reverse=True)
        return [one for one in _after(rows, page) if one.kind is kind and one.ended_at is None][: page.limit]

    def sessions_from(self, login: CredentialId) -> Sequence[Credential]:
        ours = [one for one in self._shelf.credentials.values() if one.parent == login and one.ended_at is None]
        return sorted(ours, key=lambda one: one.id)

    def openings(self, interrupt: InterruptId, by: str) -> Sequence[Opening]:
        ours = [one for one in self._shelf.openings.values() if (one.interrupt, one.by) == (interrupt, by)]
        return sorted(ours, key=lambda one: one.part)

    # Events and work.

    def events(self, run: RunId | None, page: Page) -> Sequence[tuple[int, Event]]:
        after = position(page)
        rows = enumerate(self._shelf.events[after:], start=after + 1)
        return [(seq, event) for seq, event in rows if run is None or event.run == run][: page.limit]

    def last_event(self) -> int:
        return len(self._shelf.events)

    def free_calls(self, run: RunId) -> Sequence[Event]:
        return [one for one in self._shelf.events if one.run == run and one.type in MATCHED]

    def work(self, work: str) -> Work | None:
        return self._shelf.work.get(work)

    def due_work(self, now: datetime, limit: int) -> Sequence[Work]:
        due = [
            one
            for one in self._shelf.work.values()
            if not one.poison and one.due_at <= now and (one.leased_until is None or one.leased_until <= now)
        ]
        return sorted(due, key=lambda one: one.due_at)[:limit]

    def work_of_process(self, process: ProcessId) -> Sequence[Work]:
        ours = [one for one in self._shelf.work.values() if one.process == process]
        return sorted(ours, key=lambda one: (one.due_at, one.id))

    def poison_work(self, page: Page) -> Sequence[Work]:
        rows = sorted((one for one in self._shelf.work.values() if one.poison), key=lambda one: one.id)
        return [one for one in rows if page.after is None or one.id > page.after][: page.limit]


def _after(rows: Sequence[T], page: Page) -> Sequence[T]:
    """The rows behind the one that the page names; none where there is no such row."""
    if page.after is None:
        return rows
    ids = [getattr(row, "id", None) for row in rows]
    return rows[ids.index(page.after) + 1 :] if page.after in ids else []


def _demand(fits: bool, otherwise: str) -> None:
    if not fits:
        raise inconsistent(otherwise)


def _fresh(keys: Sequence[Any], known: Mapping[Any, object], what: str) -> None:
    _demand(len(set(keys)) == len(keys) and not any(key in known for key in keys), f"{what} is added twice")
