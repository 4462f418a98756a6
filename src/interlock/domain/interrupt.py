"""A durable pause that waits for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum

from interlock.canonical import fingerprint
from interlock.domain.ids import ActionId, DecisionId, Digest, InterruptId, RunId


class InterruptKind(StrEnum):
    """What people are asked."""

    ACTION = "action"
    QUESTION = "question"
    OBSERVED = "observed"
    RECONCILE = "reconcile"


class Band(IntEnum):
    """Where a card stands in the queue: what needs attention most comes first. Numbers are kept; never change one."""

    IN_DOUBT = 0
    IRREVERSIBLE = 10
    COSTLY = 20
    QUESTION = 30
    OBSERVED = 40
    PROCEEDS = 50
    OTHER = 60

    @classmethod
    def of(cls, kind: InterruptKind, reversibility: str, *, reach: bool, guarded: bool, proceeds: bool) -> Band:
        """The band of a card, by what may follow from it.

        `reversibility` is the worst case, `reach` whether it reaches outside, costs or changes rights, `guarded`
        whether something of ours stands behind a pause, `proceeds` whether silence lets it go ahead.
        """
        if kind is InterruptKind.RECONCILE:
            return cls.IN_DOUBT
        if kind is InterruptKind.QUESTION:
            return cls.QUESTION
        if kind is InterruptKind.OBSERVED and not guarded:
            return cls.OBSERVED
        if reversibility == "irreversible":
            return cls.IRREVERSIBLE
        if reversibility == "compensable" or reach:
            return cls.COSTLY
        return cls.PROCEEDS if proceeds else cls.OTHER


class Ending(StrEnum):
    """How an interrupt ended. Each is its own; none is recorded as another."""

    APPROVED = "approved"
    MODIFIED = "modified"
    REJECTED = "rejected"
    RESPONDED = "responded"
    REDIRECTED = "redirected"
    RECONCILED = "reconciled"
    EXPIRED = "expired"
    PROCEEDED = "proceeded"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One card. It is bound to one revision by its digest and never speaks for another.

    `why` says in words why it was opened, `previous` links the holding before it. `expires_at` is
    None for a reconcile card, which never expires. `document` (canonical bytes, of which the digest is) is kept only
    where the card is not about a revision alone: a reconcile card, or one that shows a newer preview. `band`, `agent`
    and `tool` are those of its action: queues are made by them.
    """

    id: InterruptId
    kind: InterruptKind
    run: RunId
    action: ActionId
    revision: int
    digest: Digest
    opened_at: datetime
    expires_at: datetime | None
    why: str = ""
    previous: InterruptId | None = None
    document: bytes | None = None
    ending: Ending | None = None
    ended_at: datetime | None = None
    decision: DecisionId | None = None
    band: Band = Band.IRREVERSIBLE
    agent: str = ""
    tool: str = ""

    @property
    def open(self) -> bool:
        """Whether it still waits for people."""
        return self.ending is None

    @property
    def fingerprint(self) -> str:
        """The digest, short enough for people to compare."""
        return fingerprint(self.digest)
