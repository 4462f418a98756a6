"""Roll back what was done: once, under a claim of its own."""

from __future__ import annotations

from interlock.canonical import Json
from interlock.domain.action import Action, ActionState
from interlock.domain.commands import EndRollback, StartRollback
from interlock.domain.errors import DecisionError, RunError
from interlock.domain.ids import ActionId, ProcessId
from interlock.domain.lifecycle import move
from interlock.domain.reviewers import Principal
from interlock.domain.run import Work, WorkKind
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.settle import known
from interlock.usecases.stored import stored_arguments


def ask_rollback(action_id: ActionId, by: Principal, ids: Ids) -> Unit[Work]:
    """The unit by which a person asks for a rollback; a worker that has the tool carries it out."""

    def unit(rows: Rows) -> Change[Work]:
        draft = Draft(rows, ids)
        action = known(rows, action_id)
        if not by.may_decide:
            raise DecisionError("not_allowed", f"{by} may not roll back", "It needs an authenticated person.")
        move(action, draft.card(action), StartRollback(str(by), ProcessId("")), rows.now)
        work = Work(f"rollback:{action.id}", WorkKind.ROLLBACK, action.run, action.id, rows.now, error=str(by))
        draft.put(work)
        return draft.change(work)

    return unit


def start_rollback(
    action_id: ActionId, by: str, process: ProcessId, ids: Ids
) -> Unit[tuple[Action, Json, bytes | None]]:
    """The unit that claims the rollback; answers the action, its stored arguments and its result."""

    def unit(rows: Rows) -> Change[tuple[Action, Json, bytes | None]]:
        draft = Draft(rows, ids)
        action = known(rows, action_id)
        executor = rows.process(process)
        if executor is None or not executor.alive(rows.now):
            raise RunError(
                "process_lost", "this process was silent for longer than its lease", "Another one undoes it."
            )
        arguments = stored_arguments(rows, action)
        started = draft.moved(
            move(action, draft.card(action), StartRollback(by, process), rows.now), f"executor:{process}"
        )
        return draft.change((started, arguments, action.result))

    return unit


def end_rollback(
    action_id: ActionId, fence: int, came_to: str, words: str, process: ProcessId, ids: Ids
) -> Unit[Action]:
    """The unit that records what the rollback came to: done, failed or conflict."""

    def unit(rows: Rows) -> Change[Action]:
        draft = Draft(rows, ids)
        action = known(rows, action_id)
        ended = draft.moved(
            move(action, draft.card(action), EndRollback(fence, came_to, words), rows.now), f"executor:{process}"
        )
        _not_undone_alert(draft, action, ended)
        return draft.change(ended)

    return unit


def _not_undone_alert(draft: Draft, before: Action, after: Action) -> None:
    """What was to be undone and was not is left as it is, or half so: a person has to look."""
    if before.state is ActionState.ROLLING_BACK and after.state in _NOT_UNDONE:
        draft.needs_attention(after, f"{after.tool} {_NOT_UNDONE[after.state]}")


_NOT_UNDONE = {
    ActionState.ROLLBACK_FAILED: "was to be undone, and that failed or is not known",
    ActionState.ROLLBACK_CONFLICT: "was to be undone, and the world had moved on",
}
