"""Claim a cleared action: the permission to execute, committed before the effect."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

from interlock.canonical import Json, parse
from interlock.domain.action import Action, ActionKind, ActionRequest, ActionState, Preview, Revision
from interlock.domain.commands import Take
from interlock.domain.errors import CallError
from interlock.domain.ids import ActionId, InterruptId
from interlock.domain.interrupt import InterruptKind
from interlock.domain.lifecycle import move
from interlock.domain.ruling import Ruling
from interlock.domain.run import Run
from interlock.domain.tool import ToolSpec
from interlock.ports.gate import Standing
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.adopt_policy import still_ruled_by
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.passes import driven, frozen
from interlock.usecases.propose import claim_of, use_ticket
from interlock.usecases.stored import stored_arguments


def claim(request: ActionRequest, action_id: ActionId, ruling_now: Ruling, epoch: int, ids: Ids) -> Unit[Standing]:
    """The unit that takes the claim for this pass, or answers how the action stands instead.

    `epoch` is that of the policy by which `ruling_now` was made; raises `PolicyMoved` where that is not the last.
    """
    spec = request.spec

    def unit(rows: Rows) -> Change[Standing]:
        draft = Draft(rows, ids)
        run = driven(rows, request.run, request.pass_no, request.process)
        action = rows.action(action_id)
        if action is None or action.run != run.id:
            raise CallError("unknown_action", f"there is no action {action_id} in run {run.id}")
        still_ruled_by(rows, run.agent, epoch)
        arguments = stored_arguments(rows, action)
        stop = frozen(rows, run.agent, action.tool, run.id)
        if stop is not None and action.state in (ActionState.CLEARED, ActionState.IN_DOUBT):
            return draft.change(Standing(action, draft.card(action), frozen=stop.scope))
        take = Take(
            request.process,
            spec.tool_rev,
            tuple(sorted(spec.reach)),
            ruling_now,
            InterruptId(ids()),
            arguments_fit=fits(arguments, spec.schema),
            over_ticket=_over_ticket(run, action, spec, rows.now),
            preview=request.preview,
            shown=shown_preview(rows, action) if request.preview is not None else None,
            approved_by=_approver(rows, action),
            scope=request.scope if action.traits.kind is ActionKind.OBSERVED else None,
        )
        moved = move(action, draft.card(action), take, rows.now)
        taken = draft.moved(moved, f"executor:{request.process}")
        if moved.claimed:
            if not action.fence:  # a composite that is entered again, or a second try, was counted before
                use_ticket(draft, taken, spec)
            return draft.change(Standing(taken, claim=claim_of(taken, arguments)))
        return draft.change(standing(draft, taken))

    return unit


def _over_ticket(run: Run, action: Action, spec: ToolSpec, now: datetime) -> str:
    """How a claim goes beyond the run's ticket; what was claimed before has been counted, and only time can run out."""
    if run.ticket is None:
        return ""
    return run.ticket.over(run.started_at, now) if action.fence else run.ticket.against(spec, run.started_at, now)


def _approver(rows: Rows, action: Action) -> str:
    """Who approved it: read only where that matters, for an approval that is too old."""
    if action.cleared_by is None or action.cleared_at is None:
        return ""
    if rows.now - action.cleared_at <= action.ruling.approval_valid_for:
        return ""
    decision = rows.decision(action.cleared_by)
    return decision.by.name if decision is not None else ""


def shown_preview(rows: Rows, action: Action) -> Preview | None:
    """What the latest card about this revision showed that it would do; None for a person's edit, which showed none."""
    for card in reversed(rows.interrupts_of_action(action.id)):
        if card.kind is not InterruptKind.RECONCILE and card.revision == action.revision and card.document is not None:
            return Preview.kept(cast("dict[str, Json]", parse(card.document)))
    revision = cast("Revision", rows.revision(action.id, action.revision))
    return Preview.kept(cast("dict[str, Json]", parse(revision.facts)))


def standing(draft: Draft, action: Action) -> Standing:
    """How the action stands, with its card and, while another executor has it, until when."""
    busy = None
    if action.state is ActionState.EXECUTING and action.process is not None:
        holder = draft.rows.process(action.process)
        if holder is not None:
            busy = holder.beat_at + timedelta(seconds=holder.lease_s)
    return Standing(action, draft.card(action), busy_until=busy)


def fits(arguments: Json, schema: Mapping[str, object]) -> bool:
    """Whether stored arguments still have the names that the tool's schema knows and requires."""
    if not isinstance(arguments, dict) or not schema:
        return isinstance(arguments, dict)
    known = cast("Mapping[str, object]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    return set(arguments) <= set(known) and set(required) <= set(arguments)
