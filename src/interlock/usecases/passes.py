"""Who drives a run: the checks that every step of a pass makes, and what earlier passes did."""

from __future__ import annotations

from typing import cast

from interlock.canonical import Json
from interlock.domain.action import Action, ActionState, PastCall, RefusalKind, past_action
from interlock.domain.commands import AskPeople, LoseLease, TryAnew
from interlock.domain.errors import RunError
from interlock.domain.events import EventType
from interlock.domain.ids import CallKey, InterruptId, ProcessId, RunId
from interlock.domain.lifecycle import move
from interlock.domain.run import Freeze, Run, RunState
from interlock.ports.store import Rows
from interlock.usecases.draft import Draft


def driven(rows: Rows, run: RunId, pass_no: int, process: ProcessId) -> Run:
    """The run, if this process drives it in this pass; else `RunError`."""
    row = rows.run(run)
    if row is None:
        raise RunError("unknown_run", f"there is no run {run}")
    if row.state is RunState.CANCELLED:
        raise RunError("cancelled", f"run {run} was cancelled")
    if row.state is not RunState.RUNNING or row.pass_no != pass_no or row.process != process:
        raise RunError(
            "pass_lost",
            f"run {run} is driven by another executor by now",
            "Let this pass end; nothing more runs in it.",
        )
    alive = rows.process(process)
    if alive is None or not alive.alive(rows.now):
        raise RunError(
            "process_lost",
            "this process was silent for longer than its lease",
            "Let this pass end; the run goes on elsewhere.",
        )
    return row


def frozen(rows: Rows, agent: str, tool: str, run: RunId) -> Freeze | None:
    """The freeze that covers this call, if one does; read inside the transaction that would claim."""
    return next((freeze for freeze in rows.freezes() if freeze.covers(agent, tool, run)), None)


def past_calls(rows: Rows, run: RunId) -> tuple[PastCall, ...]:
    """Every call that earlier passes of the run made, in order."""
    calls = [past_action(action) for action in rows.actions_of_run(run)]
    for event in rows.free_calls(run):
        body, decided = event.body, event.type is EventType.AGENT_DECIDED
        calls.append(
            PastCall(
                CallKey(str(body["call"])),
                str(body["scope"]),
                cast("int", body["seq"]),
                str(body["kind" if decided else "tool"]),
                gone=decided,
                outcome=cast("Json", dict(body)),
            )
        )
    return tuple(sorted(calls, key=lambda call: call.seq))


def executing(rows: Rows, process: ProcessId, run: RunId) -> list[Action]:
    """What a process executes of a run (rollbacks apart: they are no part of a pass)."""
    claims = rows.claims_of_process(process)
    return [action for action in claims if action.run == run and action.state is ActionState.EXECUTING]


def lose_claims(draft: Draft, process: ProcessId, actions: list[Action]) -> None:
    """Put what a gone process was executing in doubt."""
    for action in actions:
        command = LoseLease(process, InterruptId(draft.ids()))
        lost = draft.moved(move(action, draft.card(action), command, draft.rows.now))
        if action.state is ActionState.ROLLING_BACK:
            why = f"{action.tool} was to be undone, and who did it is gone"
            draft.needs_attention(lost, why)


def ask_about(draft: Draft, action: Action) -> None:
    """Have people asked about an action that was left in doubt, where neither a rerun nor a probe will come."""
    if action.state is ActionState.IN_DOUBT:
        before = draft.last_card(action)
        previous = before.id if before is not None else None
        ask = AskPeople(InterruptId(draft.ids()), "it is not known whether it happened", previous)
        draft.moved(move(action, draft.card(action), ask, draft.rows.now))


def try_anew(draft: Draft, run: Run) -> None:
    """Free what ended the last pass for another attempt: the last call of each scope, if it failed or lapsed.

    A rejection stands; an earlier failure that the code went on from stays what it was, because the
    calls after it depend on it.
    """
    last: dict[str, Action] = {}
    for action in draft.rows.actions_of_run(run.id):
        if action.refusal is not RefusalKind.REPEATED:
            last[action.scope] = action
    for action in last.values():
        if action.state in (ActionState.FAILED, ActionState.REFUSED):
            draft.moved(move(action, draft.card(action), TryAnew(), draft.rows.now))
