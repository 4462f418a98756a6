"""Enter a run: start it, or take over where earlier passes stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from interlock.canonical import Json
from interlock.domain.action import ActionState, Versions
from interlock.domain.commands import Supersede
from interlock.domain.errors import RunError
from interlock.domain.events import EventType
from interlock.domain.ids import ProcessId, RunId
from interlock.domain.lifecycle import move
from interlock.domain.run import PassGrant, Run, RunState, Ticket, Work, WorkKind
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.draft import Draft, Ids, resume_id
from interlock.usecases.passes import ask_about, executing, lose_claims, past_calls, try_anew


@dataclass(frozen=True, slots=True)
class Entry:
    """Who wants to drive which run. `process` None only records the run for the workers.

    With `thread` the run is one input of a conversation: a new one ends what the thread was at before, `input` is
    what a worker needs to go on, and a run that has finished can be gone on with.
    """

    run: RunId
    agent: str
    process: ProcessId | None
    workflow: str = ""
    input: bytes | None = None
    owner: str = ""
    versions: Versions = Versions()
    ticket: Ticket | None = None
    thread: str = ""


def enter_run(entry: Entry, ids: Ids, run_key: Callable[[RunId], bytes]) -> Unit[PassGrant]:
    """The unit that grants the pass, or raises `RunError`."""

    def unit(rows: Rows) -> Change[PassGrant]:
        draft = Draft(rows, ids)
        run = rows.run(entry.run)
        if entry.process is not None:
            process = rows.process(entry.process)
            if process is None or not process.alive(rows.now):
                raise RunError(
                    "process_lost", "this process was silent for longer than its lease", "Start the run again."
                )
        if run is None:
            if entry.thread:
                _move_on(draft, entry)
            run = _start(draft, entry)
            return draft.change(PassGrant(run, run_key(run.id), ()))
        _same_job(run, entry)
        over = run.state is RunState.FINISHED and not entry.thread
        if over or entry.process is None:
            return draft.change(PassGrant(run, run_key(run.id), past_calls(rows, run.id) if over else (), over=over))
        _may_enter(rows, run)
        if run.state is RunState.RUNNING and run.process is not None:
            lose_claims(draft, run.process, executing(rows, run.process, run.id))
            draft.tell(EventType.RUN_PASS_LOST, run=run, body={"pass": run.pass_no})
        if run.state is RunState.FAILED:
            try_anew(draft, run)
        entered = replace(
            run,
            state=RunState.RUNNING,
            pass_no=run.pass_no + 1,
            process=entry.process,
            failure=None,
        )
        draft.put(entered)
        draft.tell(EventType.RUN_RESUMED, actor=f"agent:{run.agent}", run=entered, body={"pass": entered.pass_no})
        calls = past_calls(rows, run.id)
        changed = {a.id: a for a in (draft.action(call.action) for call in calls if call.action) if a is not None}
        calls = tuple(
            replace(call, state=now.state, retried=now.retried)
            if call.action is not None and (now := changed.get(call.action)) is not None
            else call
            for call in calls
        )
        return draft.change(PassGrant(entered, run_key(run.id), calls))

    return unit


def begun(entry: Entry, now: datetime) -> Run:
    """The run as it begins, in a pass of its process where there is one."""
    running = entry.process is not None
    return Run(
        id=entry.run,
        agent=entry.agent,
        state=RunState.RUNNING if running else RunState.WAITING,
        pass_no=1 if running else 0,
        started_at=now,
        updated_at=now,
        workflow=entry.workflow,
        input=entry.input,
        owner=entry.owner,
        process=entry.process,
        versions=entry.versions,
        ticket=entry.ticket,
        thread=entry.thread,
    )


def _start(draft: Draft, entry: Entry) -> Run:
    now = draft.rows.now
    run = begun(entry, now)
    draft.put(run)
    body: dict[str, Json] = {"agent": run.agent, "workflow": run.workflow}
    if run.ticket is not None:
        body["ticket"] = run.ticket.terms()
    draft.tell(EventType.RUN_STARTED, actor=entry.owner, run=run, body=body)
    if entry.process is None:
        draft.put(Work(resume_id(run), WorkKind.RESUME, run.id, run.id, now))
    return run


def _move_on(draft: Draft, entry: Entry) -> None:
    """End what the thread was at: nobody comes back to it, and no late approval may run it."""
    before = draft.rows.unended_run(entry.agent, entry.thread)
    if before is None:
        return
    if before.state is RunState.RUNNING:
        _may_enter(draft.rows, before)
    for action in draft.rows.actions_of_run(before.id):
        if action.state in (ActionState.HELD, ActionState.CLEARED):
            left = move(action, draft.card(action), Supersede("the conversation went on without it"), draft.rows.now)
            ask_about(draft, draft.moved(left))
    if before.state is RunState.RUNNING and before.process is not None:
        lose_claims(draft, before.process, executing(draft.rows, before.process, before.id))
    draft.put(replace(before, state=RunState.CANCELLED, process=None, attention=before.attention))
    draft.tell(EventType.RUN_CANCELLED, actor=entry.owner, run=before, body={"reason": "the conversation went on"})
    draft.finish_work(resume_id(before))


def _same_job(run: Run, entry: Entry) -> None:
    if entry.thread and run.thread == entry.thread:
        return
    if run.workflow != entry.workflow or (entry.input is not None and run.input != entry.input):
        was = run.workflow or "a plain run"
        raise RunError(
            "other_input",
            f"run {run.id} exists already, as {was} with other input",
            "Give this job a key of its own, or start it with the same input.",
        )


def _may_enter(rows: Rows, run: Run) -> None:
    if run.state is RunState.CANCELLED:
        if run.thread:
            raise RunError(
                "cancelled",
                f"run {run.id} was ended: it was cancelled, or its conversation went on without it",
                "Send new input. Two agents that use the same thread ids need different names.",
            )
        raise RunError("cancelled", f"run {run.id} was cancelled", "Start a new run under another key.")
    if run.state is RunState.DIVERGED and not run.accept_divergence:
        raise RunError(
            "diverged",
            f"run {run.id} stopped because its code took another way than the record",
            f"Put the old code back, then: interlock retry {run.id} (or accept the new way with --accept-divergence)",
        )
    if run.state is RunState.NEEDS_ATTENTION:
        raise RunError(
            "needs_attention",
            f"run {run.id} needs a person: {run.attention}",
            f"When that is settled: interlock retry {run.id}",
        )
    if run.state is RunState.RUNNING and run.process is not None:
        holder = rows.process(run.process)
        if holder is not None and holder.alive(rows.now):
            raise RunError(
                "busy",
                f"run {run.id} is being driven by process {holder.pid} on {holder.host.split('/')[0]}",
                "Wait for it.",
            )
