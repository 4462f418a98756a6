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
from interlock.usecases.draft import Draft, Ids, resume_id
from interlock.usecases.passes import ask_about, driven, executing, frozen, lose_claims

REFUSALS_BEFORE_ATTENTION = 2
"""After so many automatic refusals in a row a person should look (DESIGN: G8)."""


def leave_run(run: RunId, pass_no: int, process: ProcessId, report: PassReport, ids: Ids) -> Unit[Run]:
    """The unit that ends the pass; the run is returned as it then stands."""

    def unit(rows: Rows) -> Change[Run]:
        draft = Draft(rows, ids)
        row = driven(rows, run, pass_no, process)
        # The pass is over: what it claimed and could not settle (the store failed, say) is in doubt by now.
        lose_claims(draft, process, executing(rows, process, run))
        ended = _END[report.end](draft, replace(row, process=None), report)
        draft.put(ended)
        return draft.change(ended)

    return unit


def finish_run(run: RunId, ids: Ids) -> Unit[None]:
    """The unit that ends a run which goes on outside any pass; any other it leaves as it is."""

    def unit(rows: Rows) -> Change[None]:
        draft = Draft(rows, ids)
        row = rows.run(run)
        if row is not None and row.state is RunState.RUNNING and row.process is None:
            draft.put(_finished(draft, row, PassReport(PassEnd.FINISHED)))
        return draft.change(None)

    return unit


def _waiting(draft: Draft, run: Run, report: PassReport) -> Run:
    waiting = replace(run, state=RunState.WAITING)
    waits: list[Json] = list(report.waits_for)
    draft.tell(EventType.RUN_WAITING, actor=f"agent:{run.agent}", run=waiting, body={"for": waits})
    decided = any(card is not None and not card.open for card in map(draft.rows.interrupt, report.waits_for))
    if decided or _due_again(draft, waiting, report):
        draft.wake(waiting, afresh=decided)
    elif report.broken and draft.rows.work(resume_id(waiting)) is None:
        draft.wake(waiting)  # a worker's own work is still there, and it gives that back
    return waiting


def _due_again(draft: Draft, run: Run, report: PassReport) -> bool:
    """Whether something of it has moved since, or can go on at once: the wake-up that came while it was still running.

    Only calls that this pass made count: another pass would make the others as little.
    """
    rows = draft.rows
    return any(
        action.call_key in report.seen
        and (
            action.state is ActionState.CLEARED
            or (action.state is ActionState.IN_DOUBT and _helps_itself(draft, action))
        )
        and frozen(rows, run.agent, action.tool, run.id) is None
        for action in _actions(draft, run)
    )


def _helps_itself(draft: Draft, action: Action) -> bool:
    card = draft.card(action)
    asked = card is not None and card.open
    return not asked and (may_rerun(action) or action.traits.probed)


def _actions(draft: Draft, run: Run) -> list[Action]:
    return [draft.action(action.id) or action for action in draft.rows.actions_of_run(run.id)]


def _finished(draft: Draft, run: Run, report: PassReport) -> Run:
    attention = run.attention
    for action in _actions(draft, run):
        seen = action.call_key in report.seen
        went = "the code went on without it" if seen else "the code no longer makes that call"
        if action.state in (ActionState.HELD, ActionState.CLEARED):
            approved = action.state is ActionState.CLEARED and action.cleared_by is not None
            left = draft.moved(move(action, draft.card(action), Supersede(went), draft.rows.now))
            ask_about(draft, left)
            if approved and left.state is ActionState.REFUSED:
                attention = attention or f"an approval of {action.tool} was not taken up: {went}"
        elif _unsettled(action):
            attention = attention or f"{action.tool} is {action.state.value.replace('_', ' ')}, and {went}"
            ask_about(draft, action)  # what could help itself cannot any more: nothing comes by it again
    done = replace(run, result=report.result, stored=report.stored, attention=attention)
    if attention:
        draft.tell(EventType.RUN_NEEDS_ATTENTION, run=run, body={"why": attention})
        return replace(done, state=RunState.NEEDS_ATTENTION)
    draft.tell(EventType.RUN_FINISHED, actor=f"agent:{run.agent}", run=run, body={"pass": run.pass_no})
    if draft.rows.work(resume_id(run)) is not None:  # the program itself has gone on with it
        draft.finish_work(resume_id(run))
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


def _between(_: Draft, run: Run, __: PassReport) -> Run:
    return run


_END = {
    PassEnd.BETWEEN: _between,
    PassEnd.WAITING: _waiting,
    PassEnd.FINISHED: _finished,
    PassEnd.FAILED: _failed,
    PassEnd.DIVERGED: _diverged,
}
