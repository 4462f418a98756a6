"""End a credential: it is of no use from this instant on, nor is any session that came from it."""

from __future__ import annotations

from dataclasses import replace

from interlock.domain.errors import DecisionError
from interlock.domain.events import EventType
from interlock.domain.ids import CredentialId
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids


def end_credential(credential: CredentialId, by: str, why: str, ids: Ids) -> Unit[int]:
    """The unit that ends it and its sessions; answers how many ended. Ending one twice is fine."""

    def unit(rows: Rows) -> Change[int]:
        draft = Draft(rows, ids)
        found = rows.credential(credential)
        if found is None:
            raise DecisionError(
                "unknown_credential", f"there is no credential {credential}", "List them: interlock keys"
            )
        held = [each for each in (found, *rows.sessions_from(found.id)) if each.ended_at is None]
        for each in held:
            draft.credentials.append(replace(each, ended_at=rows.now, why=why))
            draft.tell(
                EventType.CREDENTIAL_ENDED,
                actor=by,
                body={"credential": each.id, "kind": each.kind.value, "holder": each.holder, "why": why},
            )
        return draft.change(len(held))

    return unit
