"""Past-tense facts: the catalogue of events, versioned, one for each change of state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from interlock.canonical import Json
from interlock.domain.ids import ActionId, EventId, InterruptId, RunId

EVENT_VERSION = 1


class EventType(StrEnum):
    """Every event there is. A new one may be added; none is renamed or given another meaning."""

    RUN_STARTED = "RunStarted"
    RUN_RESUMED = "RunResumed"
    RUN_WAITING = "RunWaiting"
    RUN_FINISHED = "RunFinished"
    RUN_FAILED = "RunFailed"
    RUN_CANCELLED = "RunCancelled"
    RUN_DIVERGED = "RunDiverged"
    RUN_NEEDS_ATTENTION = "RunNeedsAttention"
    RUN_RETRIED = "RunRetried"
    RUN_PASS_LOST = "RunPassLost"
    CALL_RECORDED = "CallRecorded"
    ACTION_HELD = "ActionHeld"
    ACTION_CLEARED = "ActionCleared"
    ACTION_REFUSED = "ActionRefused"
    ACTION_HELD_AGAIN = "ActionHeldAgain"
    ACTION_CLAIMED = "ActionClaimed"
    ACTION_GIVEN_BACK = "ActionGivenBack"
    ACTION_DONE = "ActionDone"
    ACTION_FAILED = "ActionFailed"
    ACTION_IN_DOUBT = "ActionInDoubt"
    ACTION_RECONCILED = "ActionReconciled"
    ACTION_WITHDRAWN = "ActionWithdrawn"
    ACTION_SUPERSEDED = "ActionSuperseded"
    ACTION_RETRIED = "ActionRetried"
    COMPOSITE_SUSPENDED = "CompositeSuspended"
    RECONCILE_OPENED = "ReconcileOpened"
    DECISION_RECORDED = "DecisionRecorded"
    DECISION_REFUSED = "DecisionRefused"
    LATE_REJECTION_RECORDED = "LateRejectionRecorded"
    APPROVAL_REVOKED = "ApprovalRevoked"
    INTERRUPT_EXPIRED = "InterruptExpired"
    ANSWER_DELIVERED = "AnswerDelivered"
    AGENT_DECIDED = "AgentDecided"
    SILENCE_PROCEEDED = "SilenceProceeded"
    LATE_OUTCOME_RECORDED = "LateOutcomeRecorded"
    OUTCOME_CONFLICTED = "OutcomeConflicted"
    ROLLBACK_STARTED = "RollbackStarted"
    ROLLBACK_DONE = "RollbackDone"
    ROLLBACK_FAILED = "RollbackFailed"
    ROLLBACK_CONFLICTED = "RollbackConflicted"
    FREEZE_SET = "FreezeSet"
    FREEZE_RELEASED = "FreezeReleased"
    PROCESS_LOST = "ProcessLost"
    WORK_POISONED = "WorkPoisoned"
    POLICY_ADOPTED = "PolicyAdopted"
    VALUE_REVEALED = "ValueRevealed"
    CREDENTIAL_ISSUED = "CredentialIssued"
    CREDENTIAL_ENDED = "CredentialEnded"
    SIGNED_IN = "SignedIn"


MATCHED = frozenset({EventType.CALL_RECORDED, EventType.AGENT_DECIDED})
"""Events by which code that runs again knows that it has said this before."""


@dataclass(frozen=True, slots=True)
class Event:
    """One fact. `body` is typed encoding; `actor` is a principal as text, "" where nobody acted."""

    id: EventId
    type: EventType
    at: datetime
    actor: str = ""
    run: RunId | None = None
    action: ActionId | None = None
    revision: int | None = None
    interrupt: InterruptId | None = None
    body: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def envelope(self, namespace: str) -> dict[str, Json]:
        """The event as typed encoding, ready for canonical bytes: the future leaf of the ledger."""
        return {
            "v": EVENT_VERSION,
            "id": self.id,
            "type": self.type.value,
            "at": self.at.isoformat(timespec="microseconds"),
            "namespace": namespace,
            "actor": self.actor,
            "run": self.run,
            "action": self.action,
            "revision": self.revision,
            "interrupt": self.interrupt,
            "body": dict(self.body),
        }
