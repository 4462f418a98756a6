"""Settle a claim: record what the execution came to, once."""

from __future__ import annotations

from interlock.domain.action import Action, ActionState
from interlock.domain.commands import Outcome, OutcomeKind, Settle
from interlock.domain.errors import CallError
from interlock.domain.events import EventType
from interlock.domain.ids import ActionId, InterruptId, ProcessId
from interlock.domain.lifecycle import move
from interlock.domain.run import RunState
from interlock.ports.gate import Standing
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids


def settle(action_id: ActionId, process: ProcessId, fence: int, outcome: Outcome, ids: Ids) -> Unit[Standing]:
    """The unit that records an outcome; a late one is evidence, a contradicting one changes nothing."""

    def unit(rows: Rows) -> Change[Standing]:
        draft = Draft(rows, ids)
        action = known(rows, action_id)
        moved = move(action, draft.card(action), Settle(fence, outcome, InterruptId(ids())), rows.now)
        after = draft.moved(moved, f"executor:{process}")
        if any(fact.type is EventType.OUTCOME_CONFLICTED for fact in moved.facts):
            _alert(draft, after, outcome)
        if action.state is ActionState.IN_DOUBT and after.state is not ActionState.IN_DOUBT:
            draft.wake(rows.run(after.run))
        return draft.change(Standing(after, draft.card(after)))

    return unit


def _alert(draft: Draft, action: Action, outcome: Outcome) -> None:
    """Two outcomes of one action contradict each other: somebody has to look, the record alone is not enough."""
    agrees = outcome.kind is OutcomeKind.DONE and action.state is ActionState.DONE
    if agrees and action.answered_by:
        return  # a person had said that it happened, and so it had
    why = f"{action.tool} may have happened twice" if agrees else f"{action.tool} came to another end than is recorded"
    draft.needs_attention(action, why, (RunState.FINISHED, RunState.FAILED, RunState.WAITING))


def known(rows: Rows, action: ActionId) -> Action:
    """The action of this id, or `CallError`."""
    row = rows.action(action)
    if row is None:
        raise CallError("unknown_action", f"there is no action {action}")
    return row
