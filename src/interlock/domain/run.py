"""A run: one input of a thread until its end, through as many pauses as it takes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Context, Decimal
from enum import StrEnum

from interlock.canonical import Json
from interlock.domain.action import PastCall, Versions
from interlock.domain.ids import InterruptId, ProcessId, RunId
from interlock.domain.texts import length, plural
from interlock.domain.tool import Reach, ToolSpec


class RunState(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    WAITING = "waiting"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DIVERGED = "diverged"
    NEEDS_ATTENTION = "needs_attention"


_EXACT = Context(prec=100)
"""Sums of costs do not depend on what the caller's thread rounds to."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a run may do at all, whatever policy and people say: the bounds of its authority.

    `tools` None means any tool, `actions` counts actions begun (refused ones apart), `cost` sums the
    declared costs, `life` runs from the start of the run. `used` and `spent` are what is used up.
    """

    tools: tuple[str, ...] | None = None
    actions: int | None = None
    cost: Decimal | None = None
    life: timedelta | None = None
    used: int = 0
    spent: Decimal = Decimal(0)

    def terms(self) -> dict[str, Json]:
        """What it allows, as it stands in events: what it does not limit is left out."""
        return {
            **({"tools": list(self.tools)} if self.tools is not None else {}),
            **({"actions": self.actions} if self.actions is not None else {}),
            **({"cost": f"{self.cost:f}"} if self.cost is not None else {}),
            **({"life": length(self.life)} if self.life is not None else {}),
        }

    def covers(self, tool: str) -> bool:
        """Whether it names the tool, or names none."""
        return self.tools is None or tool in self.tools or tool.startswith("step:")  # a step is no tool

    def over(self, started_at: datetime, now: datetime) -> str:
        """Say that its life is over, if it is."""
        ended = self.life is not None and now - started_at > self.life
        return f"the run's ticket was good for {length(self.life)} and is over" if ended and self.life else ""

    def against(self, spec: ToolSpec, started_at: datetime, now: datetime) -> str:
        """Say how one more call of this tool would go beyond it; "" where it would not."""
        if not self.covers(spec.name):
            return f"the run's ticket does not cover {spec.name}; it is for {', '.join(self.tools or ()) or 'no tool'}"
        if self.actions is not None and self.used >= self.actions:
            return f"the run's ticket is for {plural(self.actions, 'action')}, and they are used up"
        if self.cost is not None:
            if spec.cost is None and Reach.SPENDS in spec.reach:
                return f"the run's ticket limits what may be spent, and {spec.name} does not declare its cost"
            left = _EXACT.subtract(self.cost, self.spent)
            if spec.cost is not None and spec.cost > left:
                return f"{spec.name} may cost {spec.cost:f}, and the run's ticket has {left:f} of {self.cost:f} left"
        return self.over(started_at, now)

    def with_one_more(self, spec: ToolSpec) -> Ticket:
        """What it is after one more call of this tool."""
        return replace(self, used=self.used + 1, spent=_EXACT.add(self.spent, spec.cost or Decimal(0)))


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it stands now.

    `pass_no` counts entries; whoever holds the current number (as `process`) drives the run, all
    others are refused. `input` and `result` are canonical bytes of the typed encoding. `workflow`
    names what a worker can call to go on ("" where only the program itself can enter it again).
    `refusals` counts automatic refusals in a row. `attention` says why a person should look.
    """

    id: RunId
    agent: str
    state: RunState
    pass_no: int
    started_at: datetime
    updated_at: datetime
    workflow: str = ""
    input: bytes | None = None
    thread: str = ""
    owner: str = ""
    process: ProcessId | None = None
    result: bytes | None = None
    stored: bool = True
    failure: bytes | None = None
    attention: str = ""
    refusals: int = 0
    accept_divergence: bool = False
    versions: Versions = field(default_factory=Versions)
    ticket: Ticket | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more comes of it: it has finished, or was cancelled."""
        return self.state in (RunState.FINISHED, RunState.CANCELLED)


@dataclass(frozen=True, slots=True)
class PassGrant:
    """The right to drive a run now: its number, its key, and what earlier passes did.

    `over` says that the run has finished: its calls answer from the record, and no new one begins.
    """

    run: Run
    run_key: bytes
    calls: tuple[PastCall, ...]
    over: bool = False


class PassEnd(StrEnum):
    """How a pass ended. `between`: the program goes on outside any pass, and may enter the run again."""

    WAITING = "waiting"
    BETWEEN = "between"
    FINISHED = "finished"
    FAILED = "failed"
    DIVERGED = "diverged"


@dataclass(frozen=True, slots=True)
class PassReport:
    """What the adapter tells at the end of a pass.

    `seen` are the calls it made again, `waits_for` the open interrupts; `expected` and `got` are
    the two sides of a divergence, in words. `broken` says that the store failed it: it is due again.
    """

    end: PassEnd
    result: bytes | None = None
    stored: bool = True
    failure: bytes | None = None
    seen: frozenset[str] = frozenset()
    waits_for: tuple[InterruptId, ...] = ()
    broken: bool = False
    expected: str = ""
    got: str = ""


@dataclass(frozen=True, slots=True)
class Process:
    """One executor process and its heartbeat: a single row renews all its claims.

    `host` identifies machine, boot and process namespace, so that `pid` and `born` (start time of
    the process, opaque) can be checked on the same host. `lease_s` seconds after `beat_at` without
    a beat, its claims are in doubt; `lost` is final.
    """

    id: ProcessId
    host: str
    pid: int
    born: str
    started_at: datetime
    beat_at: datetime
    lease_s: float
    lost: bool = False

    def alive(self, now: datetime) -> bool:
        """Whether its lease still runs at `now` (the store's clock)."""
        return not self.lost and (now - self.beat_at).total_seconds() <= self.lease_s


class WorkKind(StrEnum):
    """What an engine does later."""

    RESUME = "resume"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class Work:
    """Something that follows from a change, written in its transaction, done at least once."""

    id: str
    kind: WorkKind
    run: RunId
    subject: str
    due_at: datetime
    attempts: int = 0
    process: ProcessId | None = None
    leased_until: datetime | None = None
    error: str = ""
    poison: bool = False


@dataclass(frozen=True, slots=True)
class Freeze:
    """A stop that is read inside every claim. `scope` is `all`, `agent`, `tool` or `run`."""

    scope: str
    name: str
    by: str
    at: datetime
    reason: str = ""

    def covers(self, agent: str, tool: str, run: RunId) -> bool:
        """Whether it stops this call."""
        return (
            self.scope == "all"
            or (self.scope == "agent" and self.name == agent)
            or (self.scope == "tool" and self.name == tool)
            or (self.scope == "run" and self.name == run)
        )
