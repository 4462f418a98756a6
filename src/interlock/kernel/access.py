"""Who may come in: credentials are issued, used, checked and ended here. A token is shown once and kept nowhere."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from interlock.domain.credential import Credential, CredentialKind
from interlock.domain.errors import DecisionError
from interlock.domain.ids import CredentialId, InterruptId
from interlock.domain.reviewers import Principal
from interlock.kernel.gate import InProcessGate
from interlock.ports.store import Page
from interlock.usecases.end_credential import end_credential
from interlock.usecases.issue_credential import issue_credential
from interlock.usecases.open_parts import open_parts
from interlock.usecases.sign_in import not_authenticated, sign_in

PREFIX = "ilk"
"""What every token of ours begins with, so that scanners for secrets can find one that was left lying about."""
_SECRET_BYTES = 32
LOGIN_LASTS = timedelta(minutes=15)
SESSION_LASTS = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Issued:
    """A credential and its token, which nobody can be shown again."""

    credential: Credential
    token: str


class Access(InProcessGate):
    """Credentials over the store, and what people have opened."""

    def issue(
        self,
        kind: CredentialKind,
        holder: str,
        *,
        by: str,
        authn: str = "local",
        label: str = "",
        lasts: timedelta | None = None,
    ) -> Issued:
        """Make a credential for a person or an agent. `lasts` None: until it is ended."""
        if not holder.strip() or len(holder) > 200:
            raise DecisionError("bad_holder", "a credential is somebody's", "Name the person or the agent.")
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        name = CredentialId(self.ids())

        def made(now: datetime) -> Credential:
            return Credential(name, kind, holder, authn, _hashed(secret), now, now + lasts if lasts else None, label)

        return Issued(self.store.write(issue_credential(made, by, self.ids)).result(), _token(name, secret))

    def sign_in(self, token: str) -> Issued:
        """Use a login up; answers the session. Raises `DecisionError` `not_authenticated`."""
        parts = _parts(token)
        if parts is None:
            raise not_authenticated()
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        session = CredentialId(self.ids())

        def made(login: Credential, now: datetime) -> Credential:
            kind, until = CredentialKind.SESSION, now + SESSION_LASTS
            return Credential(
                session, kind, login.holder, "link", _hashed(secret), now, until, login.label, parent=login.id
            )

        row = self.store.write(sign_in(parts[0], _hashed(parts[1]), made, self.ids)).result()
        return Issued(row, _token(row.id, secret))

    def authenticate(self, token: str, kinds: Collection[CredentialKind]) -> Credential:
        """Whose token this is, if it is of one of these kinds and still holds. Raises `DecisionError`."""
        parts = _parts(token)
        found, now = (
            self.store.read(lambda rows: (rows.credential(parts[0]), rows.now)) if parts is not None else (None, None)
        )
        if (
            parts is None
            or found is None
            or now is None
            or not hmac.compare_digest(found.hash, _hashed(parts[1]))
            or found.kind not in kinds
            or not found.holds(now)
        ):
            raise not_authenticated()
        return found

    def end_credential(self, credential: str, by: str, why: str = "revoked") -> int:
        """End a credential and the sessions that came from it; answers how many ended."""
        return self.store.write(end_credential(CredentialId(credential), by, why, self.ids)).result()

    def credentials(self, kind: CredentialKind, limit: int = 100, after: str | None = None) -> tuple[Credential, ...]:
        """Credentials of a kind that nobody has ended, the newest first."""
        return self.store.read(lambda rows: tuple(rows.credentials(kind, Page(limit, after))))

    def open_parts(self, interrupt: InterruptId, digest: str, parts: Collection[str], by: Principal) -> frozenset[str]:
        """Note that a person has opened parts of a card; answers all that they have opened of it."""
        return self.store.write(open_parts(interrupt, digest, tuple(parts), by, self.ids)).result()

    def opened(self, interrupt: InterruptId, by: Principal) -> frozenset[str]:
        """The parts of a card that a person has opened."""
        return self.store.read(lambda rows: frozenset(each.part for each in rows.openings(interrupt, str(by))))


def _hashed(secret: str) -> bytes:
    # A fast hash is right here: the secret has 256 bits of its own, nobody can guess their way to it.
    return sha256(secret.encode()).digest()


def _token(credential: CredentialId, secret: str) -> str:
    return f"{PREFIX}_{credential.replace('-', '')}_{secret}"


def _parts(token: str) -> tuple[CredentialId, str] | None:
    """The id and the secret of a token; None for what cannot be one."""
    prefix, _, rest = token.partition("_")
    name, _, secret = rest.partition("_")
    if prefix != PREFIX or len(name) != 32 or not name.isalnum() or not name.isascii() or not 20 <= len(secret) <= 100:
        return None
    dashed = "-".join((name[:8], name[8:12], name[12:16], name[16:20], name[20:]))
    return CredentialId(dashed), secret
