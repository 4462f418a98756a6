"""The store: the authority on every state, and the only clock.

A change of state is ONE unit of work: a pure function over rows read inside the transaction, which
returns the rows to write, the events that tell of it and the work that follows. The store runs the
function, writes what it returns, and commits all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from interlock.domain.action import Action, ActionState, Revision
from interlock.domain.credential import Credential, CredentialKind, Opening
from interlock.domain.decision import Decision
from interlock.domain.errors import InterlockError
from interlock.domain.events import Event
from interlock.domain.ids import ActionId, CallKey, CredentialId, DecisionId, EffectHash, InterruptId, ProcessId, RunId
from interlock.domain.interrupt import Band, Interrupt
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import Freeze, Process, Run, RunState, Work

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Page:
    """A place in a listing: at most `limit` rows after `after` (None: from the start)."""

    limit: int = 50
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """Which open cards: those of a band, an agent and a tool, opened after an instant. What is None counts for all."""

    band: Band | None = None
    agent: str | None = None
    tool: str | None = None
    since: datetime | None = None

    def takes(self, card: Interrupt) -> bool:
        """Whether an open card belongs to it."""
        return (
            self.band in (None, card.band)
            and self.agent in (None, card.agent)
            and self.tool in (None, card.tool)
            and (self.since is None or card.opened_at > self.since)
        )


EVERYTHING = Queue()
"""The queue of all open cards."""

Carded = tuple[Interrupt, Action, Run, Revision]
"""An open card with its action, its run and the revision that it is about."""


class RunRows(Protocol):
    """Reading runs, and what drives them."""

    def run(self, run: RunId) -> Run | None: ...

    def runs(self, states: Sequence[RunState], page: Page) -> Sequence[Run]:
        """Runs in any of `states` (all where empty), newest first; `after` is a run id."""
        ...

    def runs_of_process(self, process: ProcessId) -> Sequence[Run]:
        """Runs in state `running` that this process drives."""
        ...

    def unended_run(self, agent: str, thread: str) -> Run | None:
        """The newest run of an agent's thread that has neither finished nor been cancelled."""
        ...

    def process(self, process: ProcessId) -> Process | None: ...

    def processes(self) -> Sequence[Process]:
        """Processes that are not marked lost."""
        ...

    def freezes(self) -> Sequence[Freeze]:
        """Every freeze in force."""
        ...

    def policy(self, agent: str) -> PolicyVersion | None:
        """The policy that the agent's executors adopted last."""
        ...


class ActionRows(Protocol):
    """Reading actions and their revisions."""

    def action(self, action: ActionId) -> Action | None: ...

    def action_of_call(self, run: RunId, call: CallKey) -> Action | None: ...

    def actions_of_run(self, run: RunId) -> Sequence[Action]:
        """All actions of a run in the order of their proposal (`seq`, then id)."""
        ...

    def actions_with_effect(self, run: RunId, effect: EffectHash) -> Sequence[tuple[Action, int]]:
        """Actions of the run that have a revision with this effect, each with that revision's number.

        An action stands once for each of its revisions that has the effect; ordered by proposal.
        """
        ...

    def count_in_run(self, run: RunId, tool: str | None) -> int:
        """How many actions a run has, of one tool or of all."""
        ...

    def count_calls(self, agent: str, tool: str, since: datetime, most: int) -> int:
        """How many actions of an agent's tool were proposed at or after `since`; counts no further than `most`."""
        ...

    def claims_of_process(self, process: ProcessId) -> Sequence[Action]:
        """Actions in state `executing` or `rolling_back` whose claim this process holds."""
        ...

    def revision(self, action: ActionId, number: int) -> Revision | None: ...

    def revisions(self, action: ActionId) -> Sequence[Revision]:
        """All revisions of an action, first to last."""
        ...

    def blob(self, digest: str) -> bytes | None: ...


class CardRows(Protocol):
    """Reading interrupts and decisions."""

    def interrupt(self, interrupt: InterruptId) -> Interrupt | None: ...

    def interrupts_of_action(self, action: ActionId) -> Sequence[Interrupt]:
        """Every card of an action, first to last."""
        ...

    def open_interrupts(self, page: Page, queue: Queue = EVERYTHING) -> Sequence[Interrupt]:
        """Open cards, by band and in each the oldest first; `after` is the id of a card, open or not.

        One index serves every page, also where the queue names an agent or a tool.
        """
        ...

    def open_cards(self, page: Page, queue: Queue = EVERYTHING) -> Sequence[Carded]:
        """The same with what belongs to each, from one statement."""
        ...

    def count_open(self, queue: Queue, most: int) -> int:
        """How many cards are open; counts no further than `most`."""
        ...

    def due_interrupts(self, now: datetime, limit: int) -> Sequence[Interrupt]:
        """Open cards whose `expires_at` is at or before `now`."""
        ...

    def decision(self, decision: DecisionId) -> Decision | None: ...

    def decisions_of_action(self, action: ActionId) -> Sequence[Decision]:
        """Every decision about an action, first to last."""
        ...


class AccessRows(Protocol):
    """Reading who may come in, and what they have looked at."""

    def credential(self, credential: CredentialId) -> Credential | None: ...

    def credentials(self, kind: CredentialKind, page: Page) -> Sequence[Credential]:
        """Credentials of a kind that nobody has ended, the newest first; `after` is a credential's id."""
        ...

    def sessions_from(self, login: CredentialId) -> Sequence[Credential]:
        """Sessions that came from a login, or another parent, and are not ended."""
        ...

    def openings(self, interrupt: InterruptId, by: str) -> Sequence[Opening]:
        """The parts of a card that somebody has opened."""
        ...


class RecordRows(Protocol):
    """Reading events and work."""

    def events(self, run: RunId | None, page: Page) -> Sequence[tuple[int, Event]]:
        """Events in commit order with their position (of one run, or of all); `after` is a position as text."""
        ...

    def last_event(self) -> int:
        """The position of the newest event; 0 where there is none."""
        ...

    def free_calls(self, run: RunId) -> Sequence[Event]:
        """The events of a run by which code that runs again is matched (`MATCHED`), in order."""
        ...

    def work(self, work: str) -> Work | None: ...

    def due_work(self, now: datetime, limit: int) -> Sequence[Work]:
        """Work that is due, not poison, and not under a live lease at `now`; oldest due first."""
        ...

    def work_of_process(self, process: ProcessId) -> Sequence[Work]:
        """Work that this process has leased."""
        ...

    def poison_work(self, page: Page) -> Sequence[Work]: ...


class Rows(RunRows, ActionRows, CardRows, AccessRows, RecordRows, Protocol):
    """All rows, as they stand in one transaction or one snapshot.

    `now` is the store's clock, aware and in UTC, microseconds; it is read after the transaction has
    begun and never goes back from one committed transaction to the next, whatever the machine does.
    """

    @property
    def now(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Change(Generic[R_co]):
    """What one unit writes, and what it answers.

    Rows replace the row of the same id (revisions, decisions and blobs are only ever added; adding
    a blob or an opening that is there already is fine). `refusal` is raised to the asker *after* the commit: a
    refusal leaves its evidence. `events` are appended in order, behind everything committed before.

    Actions, revisions, cards and decisions may only name runs, actions and cards that are there or
    come with them, and no two actions stand for one call; else `StoreError` `store_inconsistent`.
    What a row is about never changes: the run, call, agent, tool and `proposed_at` of an action; of
    a card everything but `why`, `expires_at` and its ending; the kind of work.
    """

    reply: R_co
    runs: Sequence[Run] = ()
    actions: Sequence[Action] = ()
    revisions: Sequence[Revision] = ()
    interrupts: Sequence[Interrupt] = ()
    decisions: Sequence[Decision] = ()
    processes: Sequence[Process] = ()
    freezes: Sequence[Freeze] = ()
    released: Sequence[Freeze] = ()
    policies: Sequence[PolicyVersion] = ()
    credentials: Sequence[Credential] = ()
    openings: Sequence[Opening] = ()
    events: Sequence[Event] = ()
    work: Sequence[Work] = ()
    work_done: Sequence[str] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    refusal: InterlockError | None = None


Unit = Callable[[Rows], Change[R]]
"""One unit of work: pure, quick, and safe to run again (a failed batch is repeated unit by unit).

It may raise `InterlockError`: then nothing of it is written and the asker gets the error.
"""


class Store(Protocol):
    """Durable rows. Safe to call from any thread; not across `fork` (raises `StoreError` `forked`).

    Guaranteed: units are serialised; a unit's writes are all there or none; the future resolves
    after the durable commit; a read that starts after a future has resolved sees its writes.
    NOT guaranteed: that a unit runs exactly once, or in the thread of its caller.
    """

    @property
    def namespace(self) -> str:
        """The name under which events are recorded."""
        ...

    @property
    def namespace_key(self) -> bytes:
        """32 secret bytes, made at first opening, that key every effect hash of this store."""
        ...

    def write(self, unit: Unit[R]) -> Future[R]:
        """Carry out a unit and commit it durably; units of many callers may share one commit."""
        ...

    def write_soon(self, unit: Unit[R]) -> Future[R]:
        """As `write`, but in company: with the next `write`, or within 50 ms, and in the order of the calls.

        For changes that whoever makes them does not wait for.
        """
        ...

    def write_later(self, unit: Unit[object]) -> None:
        """Carry out a unit within 50 ms, and before any unit given to `write` after this call.

        For records that nobody waits for. They are lost with the process if it dies before.
        """
        ...

    def read(self, query: Callable[[Rows], R]) -> R:
        """Answer a query from one consistent snapshot of committed rows."""
        ...

    def flush(self) -> None:
        """Wait until everything given to `write_soon` and `write_later` so far is committed."""
        ...

    def wait_for_change(self, timeout: float) -> bool:
        """Block until something may have been committed (by any process), at most `timeout` seconds.

        True is a hint, never a promise; a change may also be missed, so callers look again by a
        slow poll.
        """
        ...

    def close(self) -> None:
        """Commit what waits and release everything. Closing twice is fine."""
        ...


ACTIVE_STATES = (ActionState.HELD, ActionState.CLEARED, ActionState.EXECUTING, ActionState.IN_DOUBT)
"""States in which an action still has something coming."""
