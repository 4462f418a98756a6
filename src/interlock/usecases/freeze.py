"""Freeze and release: a stop that every claim reads inside its own transaction."""

from __future__ import annotations

from dataclasses import replace

from interlock.domain.action import ActionState
from interlock.domain.errors import DecisionError
from interlock.domain.events import EventType
from interlock.domain.reviewers import Principal
from interlock.domain.run import Freeze, RunState
from interlock.ports.store import Change, Page, Rows, Unit
from interlock.usecases.draft import Draft, Ids


def freeze(stop: Freeze, by: Principal, ids: Ids) -> Unit[Freeze]:
    """The unit that sets the stop. What is executing goes on; nothing new is claimed."""

    def unit(rows: Rows) -> Change[Freeze]:
        if not by.may_decide:
            raise DecisionError("not_allowed", f"{by} may not freeze", "It needs an authenticated person.")
        draft = Draft(rows, ids)
        row = replace(stop, at=rows.now)
        draft.freezes.append(row)
        draft.tell(
            EventType.FREEZE_SET, actor=str(by), body={"scope": row.scope, "name": row.name, "reason": row.reason}
        )
        return draft.change(row)

    return unit


def release(scope: str, name: str, by: Principal, ids: Ids) -> Unit[None]:
    """The unit that lifts the stop and wakes what waited behind it."""

    def unit(rows: Rows) -> Change[None]:
        if not by.may_decide:
            raise DecisionError("not_allowed", f"{by} may not release", "It needs an authenticated person.")
        row = next((each for each in rows.freezes() if each.scope == scope and each.name == name), None)
        if row is None:
            raise DecisionError("not_frozen", f"nothing is frozen under {scope} {name}".rstrip())
        draft = Draft(rows, ids)
        draft.released.append(row)
        draft.tell(EventType.FREEZE_RELEASED, actor=str(by), body={"scope": scope, "name": name})
        page = Page(limit=500)
        while waiting := rows.runs((RunState.WAITING,), page):
            for run in waiting:
                if any(
                    action.state in (ActionState.CLEARED, ActionState.IN_DOUBT)
                    for action in rows.actions_of_run(run.id)
                ):
                    draft.wake(run)
            page = Page(limit=500, after=waiting[-1].id)
        return draft.change(None)

    return unit
