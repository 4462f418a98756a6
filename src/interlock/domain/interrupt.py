"""A durable pause that waits for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from interlock.canonical import fingerprint
from interlock.domain.ids import ActionId, DecisionId, Digest, InterruptId, RunId


class InterruptKind(StrEnum):
    """What people are asked."""

    ACTION = "action"
    QUESTION = "question"
    OBSERVED = "observed"
    RECONCILE = "reconcile"


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
    where the card is not about a revision alone: a reconcile card, or one that shows a newer preview.
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

    @property
    def open(self) -> bool:
        """Whether it still waits for people."""
        return self.ending is None

    @property
    def fingerprint(self) -> str:
        """The digest, short enough for people to compare."""
        return fingerprint(self.digest)
