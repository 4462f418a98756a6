"""Collects what a unit will write, so that every use case tells its events the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from interlock.canonical import Json
from interlock.domain.action import Action, Revision
from interlock.domain.credential import Credential, Opening
from interlock.domain.decision import Decision
from interlock.domain.errors import InterlockError
from interlock.domain.events import Event, EventType
from interlock.domain.ids import EventId, InterruptId, RunId
from interlock.domain.interrupt import Interrupt
from interlock.domain.lifecycle import Moved
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import Freeze, Process, Run, RunState, Work, WorkKind
from interlock.ports.store import Change, Rows

R = TypeVar("R")
Ids = Callable[[], str]


class Draft:
    """The writes of one unit in the making. Later versions of a row replace earlier ones."""

    def __init__(self, rows: Rows, ids: Ids) -> None:
        self.rows = rows
        self.ids = ids
        self._runs: dict[str, Run] = {}
        self._actions: dict[str, Action] = {}
        self._interrupts: dict[str, Interrupt] = {}
        self._processes: dict[str, Process] = {}
        self._work: dict[str, Work] = {}
        self._work_done: list[str] = []
        self._events: list[Event] = []
        self.revisions: list[Revision] = []
        self.decisions: list[Decision] = []
        self.freezes: list[Freeze] = []
        self.released: list[Freeze] = []
        self.policies: list[PolicyVersion] = []
        self.credentials: list[Credential] = []
        self.openings: list[Opening] = []
        self.blobs: dict[str, bytes] = {}

    def tell(
        self,
        event: EventType,
        *,
        actor: str = "",
        run: Run | None = None,
        action: Action | None = None,
        interrupt: InterruptId | None = None,
        body: Mapping[str, Json] | None = None,
    ) -> None:
        """Append one event."""
        self._events.append(
            Event(
                id=EventId(self.ids()),
                type=event,
                at=self.rows.now,
                actor=actor,
                run=run.id if run else action.run if action else None,
                action=action.id if action else None,
                revision=action.revision if action else None,
                interrupt=interrupt,
                body=body or {},
            )
        )

    def put(self, row: Run | Action | Interrupt | Process | Work) -> None:
        """Write or rewrite one row."""
        match row:
            case Run():
                self._runs[row.id] = replace(row, updated_at=self.rows.now)
            case Action():
                self._actions[row.id] = row
            case Interrupt():
                self._interrupts[row.id] = row
            case Process():
                self._processes[row.id] = row
            case Work():
                self._work[row.id] = row

    def moved(self, moved: Moved, actor: str = "") -> Action:
        """Take over what the state machine answered; facts without an actor get `actor`."""
        if moved.facts or moved.claimed:
            self.put(moved.action)
        for card in moved.interrupts:
            self.put(card)
        for fact in moved.facts:
            self.tell(
                fact.type, actor=fact.actor or actor, action=moved.action, interrupt=fact.interrupt, body=fact.body
            )
        return moved.action

    def run(self, run: str) -> Run | None:
        """The run as this unit has it."""
        return self._runs.get(run) or self.rows.run(RunId(run))

    def needs_attention(self, action: Action, why: str, ended: tuple[RunState, ...] = ()) -> None:
        """Have a person look at the action's run; one that stands in a state of `ended` stops there until they have."""
        run = self.run(action.run)
        if run is not None:
            self.put(replace(run, attention=why, state=RunState.NEEDS_ATTENTION if run.state in ended else run.state))
            self.tell(EventType.RUN_NEEDS_ATTENTION, run=run, action=action, body={"why": why})

    def action(self, action: str) -> Action | None:
        """The action as this unit has it so far, else None."""
        return self._actions.get(action)

    def card(self, action: Action) -> Interrupt | None:
        """The card that the action names, as this unit has it."""
        if action.interrupt is None:
            return None
        return self._interrupts.get(action.interrupt) or self.rows.interrupt(action.interrupt)

    def last_card(self, action: Action) -> Interrupt | None:
        """The latest card of an action, whether the action still names it or not."""
        cards = self.rows.interrupts_of_action(action.id)
        return cards[-1] if cards else None

    def finish_work(self, work: str) -> None:
        """Strike work off."""
        self._work_done.append(work)

    def wake(self, run: Run | None, *, afresh: bool = False) -> None:
        """Have a waiting run resumed, if a worker can; a run that is being driven looks for itself.

        Attempts that ended in a dead process go on counting, unless a person asked (`afresh`).
        """
        if run is None or run.state is not RunState.WAITING or not run.workflow:
            return
        before = None if afresh else self.rows.work(resume_id(run))
        attempts, error = (before.attempts, before.error) if before is not None else (0, "")
        self.put(Work(resume_id(run), WorkKind.RESUME, run.id, run.id, self.rows.now, attempts, error=error))

    def change(self, reply: R, refusal: InterlockError | None = None) -> Change[R]:
        """All of it, as the store wants it."""
        return Change(
            reply=reply,
            runs=tuple(self._runs.values()),
            actions=tuple(self._actions.values()),
            revisions=tuple(self.revisions),
            interrupts=tuple(self._interrupts.values()),
            decisions=tuple(self.decisions),
            processes=tuple(self._processes.values()),
            freezes=tuple(self.freezes),
            released=tuple(self.released),
            policies=tuple(self.policies),
            credentials=tuple(self.credentials),
            openings=tuple(self.openings),
            events=tuple(self._events),
            work=tuple(self._work.values()),
            work_done=tuple(self._work_done),
            blobs=self.blobs,
            refusal=refusal,
        )


def resume_id(run: Run) -> str:
    """One resume a run: asking twice is asking once."""
    return f"resume:{run.id}"
