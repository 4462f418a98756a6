"""Sign in: use up a login, and make the session that comes of it."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from interlock.domain.credential import Credential, CredentialKind
from interlock.domain.errors import DecisionError
from interlock.domain.events import EventType
from interlock.domain.ids import CredentialId
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids


def not_authenticated() -> DecisionError:
    """The one answer to whatever does not let in: it does not say what was wrong with it."""
    return DecisionError(
        "not_authenticated",
        "this credential is not known here, or is of no use any more",
        "Get a new one: interlock link",
    )


def sign_in(
    login: CredentialId, secret: bytes, session: Callable[[Credential, datetime], Credential], ids: Ids
) -> Unit[Credential]:
    """The unit that turns a login into the session that `session` makes of it. Of two at once, one gets in."""

    def unit(rows: Rows) -> Change[Credential]:
        draft = Draft(rows, ids)
        found = rows.credential(login)
        genuine = found is not None and hmac.compare_digest(found.hash, secret)
        if found is None or not genuine or found.kind is not CredentialKind.LOGIN or not found.holds(rows.now):
            raise not_authenticated()
        made = session(found, rows.now)
        draft.credentials += [replace(found, ended_at=rows.now, why="used"), made]
        draft.tell(
            EventType.SIGNED_IN,
            actor=f"reviewer:{made.holder}",
            body={"credential": found.id, "session": made.id, "authn": made.authn},
        )
        return draft.change(made)

    return unit
