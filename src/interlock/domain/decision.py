"""What a person said, and what they were shown when they said it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from interlock.canonical import Json
from interlock.domain.action import ActionState
from interlock.domain.ids import ActionId, DecisionId, Digest, InterruptId, RunId
from interlock.domain.reviewers import Principal


class Verdict(StrEnum):
    """The five things a person can say about an action, and what they found about one in doubt."""

    APPROVE = "approve"
    MODIFY = "modify"
    REJECT = "reject"
    RESPOND = "respond"
    REDIRECT = "redirect"
    FOUND_DONE = "found_done"
    FOUND_FAILED = "found_failed"
    RUN_AGAIN = "run_again"

    @property
    def reconciles(self) -> bool:
        """Whether it answers what happened, not what may happen."""
        return self in (Verdict.FOUND_DONE, Verdict.FOUND_FAILED, Verdict.RUN_AGAIN)


@dataclass(frozen=True, slots=True)
class Shown:
    """What the reviewer was shown and how they came to say it; evidence for later.

    `render_digest` is the digest of the text or page as shown, `opened` the folds that were opened,
    `dwell_ms` milliseconds between showing and deciding (None: not known), `batch` a bulk id.
    """

    channel: str = ""
    render_digest: str = ""
    opened: tuple[str, ...] = ()
    dwell_ms: int | None = None
    batch: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that counts. `value` is canonical bytes: new arguments, a result, or None.

    `mode` is `solo` where one person decides about their own runs on their own machine.
    """

    id: DecisionId
    interrupt: InterruptId
    action: ActionId
    run: RunId
    revision: int
    digest: Digest
    verdict: Verdict
    by: Principal
    at: datetime
    note: str = ""
    value: bytes | None = None
    shown: Shown = field(default_factory=Shown)
    mode: str = "solo"

    def says_the_same(self, other: Decision) -> bool:
        """Whether `other` is this decision sent again (then it gets the same receipt)."""
        return (
            self.interrupt == other.interrupt
            and self.digest == other.digest
            and self.verdict == other.verdict
            and self.note == other.note
            and self.value == other.value
            and self.by.name == other.by.name
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What people said to a pause, for the framework that made it.

    `verdict` None: nobody decided (`ended` says how it ended then). `arguments` are the typed encoding that
    was approved, `value` that of a `respond`; `words` reach the agent, `by` is the person.
    """

    verdict: Verdict | None
    ended: str = ""
    words: str = ""
    by: str = ""
    arguments: Json = None
    value: Json = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a decision: what was recorded, what became of the action, what opened next.

    `late` is True for a rejection that came after the card had expired: recorded, changes nothing.
    `replayed` is True when the same decision had been recorded before.
    """

    decision: Decision
    state: ActionState
    next_interrupt: InterruptId | None = None
    late: bool = False
    replayed: bool = False
