"""Leave a run at the end of a pass, and see whether it is due again at once."""

from __future__ import annotations

from dataclasses import replace

from interlock.canonical import Json
from interlock.domain.action import Action, ActionState
from interlock.domain.commands import Supersede
from interlock.domain.events import EventType
from interlock.domain.ids import ProcessId, RunId
from interlock.domain.lifecycle import may_rerun, move
from interlock.domain.run import PassEnd, PassReport, Run, RunState
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.passes import driven, frozen

REFUSALS_BEFORE_ATTENTION = 2
"""After so many automatic refusals in a row a person should look (DESIGN: G8)."""


def leave_run(run: RunId, pass_no: int, process: ProcessId, report: PassReport, ids: Ids) -> Unit[Run]:
    """The unit that ends the pass; the run is returned as it then stands."""

    def unit(rows: Rows) -> Change[Run]:
        draft = Draft(rows, ids)
        row = driven(rows, run, pass_no, process)
        ended = _END[report.end](draft, replace(row, process=None), report)
        draft.put(ended)
        return draft.change(ended)

    return unit


def _waiting(draft: Draft, run: Run, report: PassReport) -> Run:
    waiting = replace(run, state=RunState.WAITING)
    waits: list[Json] = list(report.waits_for)
    draft.tell(EventType.RUN_WAITING, actor=f"agent:{run.agent}", run=waiting, body={"for": waits})
    if _due_again(draft.rows, waiting, report):
        draft.wake(waiting)
    return waiting


def _due_again(rows: Rows, run: Run, report: PassReport) -> bool:
    """Whether something it parked on has moved since: the wake-up that came while it was still running."""
    cards = [rows.interrupt(card) for card in report.waits_for]
    if any(card is not None and not card.open for card in cards):
        return True
    return any(
        (action.state is ActionState.CLEARED and frozen(rows, run.agent, action.tool, run.id) is None)
        or (
            action.state is ActionState.IN_DOUBT
            and (may_rerun(action) or (action.traits.probed and action.interrupt is None))
        )
        for action in rows.actions_of_run(run.id)
    )


def _finished(draft: Draft, run: Run, report: PassReport) -> Run:
    attention = run.attention if run.refusals >= REFUSALS_BEFORE_ATTENTION else ""
    for action in draft.rows.actions_of_run(run.id):
        if action.call_key in report.seen:
            continue
        if action.state in (ActionState.HELD, ActionState.CLEARED):
            approved = action.state is ActionState.CLEARED and action.cleared_by is not None
            left = draft.moved(
                move(action, draft.card(action), Supersede("the code no longer makes this call"), draft.rows.now)
            )
            if approved and left.state is ActionState.REFUSED:
                attention = (
                    attention or f"an approval of {action.tool} was not taken up: the code no longer makes that call"
                )
        elif _unsettled(action):
            attention = (
                attention
                or f"{action.tool} is {action.state.value.replace('_', ' ')}, and the code no longer makes that call"
            )
    done = replace(run, result=report.result, stored=report.stored, attention=attention)
    if attention:
        draft.tell(EventType.RUN_NEEDS_ATTENTION, run=run, body={"why": attention})
        return replace(done, state=RunState.NEEDS_ATTENTION)
    draft.tell(EventType.RUN_FINISHED, actor=f"agent:{run.agent}", run=run, body={"pass": run.pass_no})
    return replace(done, state=RunState.FINISHED)


def _unsettled(action: Action) -> bool:
    return action.state is ActionState.IN_DOUBT or (
        action.state is ActionState.EXECUTING and not action.traits.composite
    )


def _failed(draft: Draft, run: Run, report: PassReport) -> Run:
    draft.tell(EventType.RUN_FAILED, actor=f"agent:{run.agent}", run=run, body={"pass": run.pass_no})
    return replace(run, state=RunState.FAILED, failure=report.failure)


def _diverged(draft: Draft, run: Run, report: PassReport) -> Run:
    draft.tell(EventType.RUN_DIVERGED, run=run, body={"expected": report.expected, "got": report.got})
    return replace(
        run,
        state=RunState.DIVERGED,
        attention=f"expected {report.expected}, the code did {report.got}",
        accept_divergence=False,
    )


_END = {
    PassEnd.WAITING: _waiting,
    PassEnd.FINISHED: _finished,
    PassEnd.FAILED: _failed,
    PassEnd.DIVERGED: _diverged,
}
