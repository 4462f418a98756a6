"""Pauses that another framework made: hand over what people answered."""

from __future__ import annotations

from interlock.canonical import parse
from interlock.domain.action import Action, ActionState, RefusalKind
from interlock.domain.commands import Deliver
from interlock.domain.decision import Answer, Verdict
from interlock.domain.ids import ActionId, ProcessId
from interlock.domain.lifecycle import move
from interlock.ports.gate import Standing
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.claim import standing
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.settle import known
from interlock.usecases.stored import stored_arguments


def deliver(action: ActionId, process: ProcessId, ids: Ids) -> Unit[Standing]:
    """The unit that records the handing over of an approval; anything else stands as it is."""

    def unit(rows: Rows) -> Change[Standing]:
        draft = Draft(rows, ids)
        row = known(rows, action)
        told = draft.moved(move(row, draft.card(row), Deliver(), rows.now), f"executor:{process}")
        return draft.change(standing(draft, told))

    return unit


def answer_to(rows: Rows, action: ActionId) -> Answer | None:
    """What people said to it; None while nobody has and nothing has ended it."""
    row = known(rows, action)
    if row.state is ActionState.HELD:
        return None
    arguments = stored_arguments(rows, row)
    decided = [each for each in rows.decisions_of_action(row.id) if not each.verdict.reconciles]
    last = decided[-1] if decided and _counts(row) else None
    if last is None:
        return Answer(None, ended=row.refusal.value if row.refusal else row.state.value, words=row.words)
    value = parse(row.result) if last.verdict is Verdict.RESPOND and row.result is not None else None
    return Answer(last.verdict, words=last.note, by=last.by.name, arguments=arguments, value=value)


def _counts(action: Action) -> bool:
    """Whether it stands as the last decision left it: nothing but people ended it."""
    return action.refusal in (None, RefusalKind.REJECTED, RefusalKind.REDIRECTED)
