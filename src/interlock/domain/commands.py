"""What can be asked of an action. Each command is data; `lifecycle.move` answers it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from interlock.domain.action import Preview
from interlock.domain.decision import Verdict
from interlock.domain.ids import DecisionId, Digest, EffectHash, InterruptId, ProcessId
from interlock.domain.ruling import Ruling


class OutcomeKind(StrEnum):
    """What an execution came to."""

    DONE = "done"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"


@dataclass(frozen=True, slots=True)
class Outcome:
    """An execution's outcome. `result` and `failure` are canonical bytes of the typed encoding."""

    kind: OutcomeKind
    result: bytes | None = None
    stored: bool = True
    failure: bytes | None = None


@dataclass(frozen=True, slots=True)
class Revised:
    """The next revision, as a person's modification makes it."""

    digest: Digest
    effect_hash: EffectHash
    ruling: Ruling


@dataclass(frozen=True, slots=True)
class Decide:
    """A person decides the open card. `revised` comes with `modify`, `result` with `respond`."""

    verdict: Verdict
    by: str
    decision: DecisionId
    note: str = ""
    revised: Revised | None = None
    result: bytes | None = None
    stored: bool = True


@dataclass(frozen=True, slots=True)
class Expire:
    """The deadline has passed (if it has)."""


@dataclass(frozen=True, slots=True)
class Revoke:
    """Take an approval back before it is claimed."""

    by: str
    new_interrupt: InterruptId
    note: str = ""


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The run was cancelled, or the agent took the action back."""

    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """The thread moved on without this action."""

    reason: str


@dataclass(frozen=True, slots=True)
class Take:
    """An executor asks for the claim.

    `ruling_now` is the policy's answer at this moment; only a stricter one counts. `arguments_fit`
    says whether the stored arguments still fit the tool as it is now, `over_ticket` that the run's time is up.
    `preview` is what its code shows now, `shown` what the card showed that was approved (None: nothing to compare),
    `approved_by` who approved it. `scope` is where the call is made, if that is elsewhere than it was asked about.
    """

    process: ProcessId
    tool_rev: str
    reach: tuple[str, ...]
    ruling_now: Ruling
    new_interrupt: InterruptId
    arguments_fit: bool = True
    over_ticket: str = ""
    preview: Preview | None = None
    shown: Preview | None = None
    approved_by: str = ""
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Deliver:
    """A framework that paused by itself is handed the answer: what it does with it is its own affair."""


@dataclass(frozen=True, slots=True)
class GiveBack:
    """An executor returns a claim: its tool never started, or (`paused`) stopped on purpose to wait for something."""

    fence: int
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Proceed:
    """A soft checkpoint's window, which opened at `opened_at`, has passed in silence (if it has)."""

    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Settle:
    """An executor reports what came of the claim with this fence."""

    fence: int
    outcome: Outcome
    new_interrupt: InterruptId


@dataclass(frozen=True, slots=True)
class LoseLease:
    """The executor is gone without an outcome."""

    process: ProcessId
    new_interrupt: InterruptId


@dataclass(frozen=True, slots=True)
class AskPeople:
    """Open the reconcile card: neither a rerun nor a probe can tell. `previous` is the card before it, if any."""

    new_interrupt: InterruptId
    why: str
    previous: InterruptId | None = None


@dataclass(frozen=True, slots=True)
class Reconcile:
    """A person (`decision`) or a probe (None) says what happened to an action in doubt."""

    verdict: Verdict
    by: str
    decision: DecisionId | None = None
    result: bytes | None = None
    stored: bool = True
    failure: bytes | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class TryAnew:
    """A person retries the run: what failed or lapsed is proposed again as the next attempt."""


@dataclass(frozen=True, slots=True)
class StartRollback:
    """Undo what was done."""

    by: str
    process: ProcessId


@dataclass(frozen=True, slots=True)
class EndRollback:
    """What the rollback came to: `done`, `failed` or `conflict`."""

    fence: int
    came_to: str
    words: str = ""


Command = (
    Decide
    | Expire
    | Revoke
    | Withdraw
    | Supersede
    | Take
    | Deliver
    | GiveBack
    | Proceed
    | Settle
    | LoseLease
    | AskPeople
    | Reconcile
    | TryAnew
    | StartRollback
    | EndRollback
)
