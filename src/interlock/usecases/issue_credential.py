"""Issue a credential: a link that works once, a session, a key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from interlock.canonical import Json
from interlock.domain.credential import Credential
from interlock.domain.events import EventType
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids


def issue_credential(made: Callable[[datetime], Credential], by: str, ids: Ids) -> Unit[Credential]:
    """The unit that keeps the credential that `made` makes at its instant. Its secret is in no event and in no row."""

    def unit(rows: Rows) -> Change[Credential]:
        draft, credential = Draft(rows, ids), made(rows.now)
        draft.credentials.append(credential)
        body: dict[str, Json] = {
            "credential": credential.id,
            "kind": credential.kind.value,
            "holder": credential.holder,
            "label": credential.label,
        }
        draft.tell(EventType.CREDENTIAL_ISSUED, actor=by, body=body)
        return draft.change(credential)

    return unit
