"""What somebody shows to be let in: a link that works once, a session, a key. The secret itself is never kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from interlock.domain.ids import CredentialId


class CredentialKind(StrEnum):
    """What it is for. A login works once and makes a session; keys are for programs."""

    LOGIN = "login"
    SESSION = "session"
    AGENT_KEY = "agent_key"
    REVIEWER_KEY = "reviewer_key"

    @property
    def decides(self) -> bool:
        """Whether whoever holds it may decide. An agent's key never may."""
        return self in (CredentialKind.SESSION, CredentialKind.REVIEWER_KEY)


@dataclass(frozen=True, slots=True)
class Credential:
    """One credential: whose it is (`holder`, the name of a person or an agent) and how we know (`authn`).

    `hash` is the SHA-256 of its secret. `expires_at` None: until it is ended. `ended_at` and `why` say that and why it
    is of no use any more: used, signed out, revoked. `parent` is the login that a session came from.
    """

    id: CredentialId
    kind: CredentialKind
    holder: str
    authn: str
    hash: bytes
    made_at: datetime
    expires_at: datetime | None = None
    label: str = ""
    parent: CredentialId | None = None
    ended_at: datetime | None = None
    why: str = ""

    def holds(self, now: datetime) -> bool:
        """Whether it is of use at this instant."""
        return self.ended_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class Opening:
    """A person opened a folded part of a card (the name of an argument, or `preview`): evidence for an approval."""

    interrupt: str
    by: str
    part: str
    at: datetime
