"""Propose an action: find it again, or begin it under its ruling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from interlock.canonical import Json
from interlock.domain.action import Action, ActionKind, ActionRequest, ActionState, Claim, RefusalKind, Revision, Traits
from interlock.domain.commands import Expire, Take
from interlock.domain.errors import CallError, Diverged
from interlock.domain.events import EventType
from interlock.domain.ids import ActionId, CallKey, Digest, EffectHash, InterruptId
from interlock.domain.lifecycle import Opening, begin, due, move
from interlock.domain.ruling import Ruling
from interlock.domain.run import Run
from interlock.domain.tool import ToolSpec
from interlock.ports.gate import Standing
from interlock.ports.store import Change, Rows, Unit
from interlock.usecases.adopt_policy import still_ruled_by
from interlock.usecases.draft import Draft, Ids
from interlock.usecases.leave_run import REFUSALS_BEFORE_ATTENTION
from interlock.usecases.passes import driven, frozen


@dataclass(frozen=True, slots=True)
class Proposal:
    """A request with everything that is made before the transaction: document, digest, ids, ruling and its epoch."""

    request: ActionRequest
    action: ActionId
    agent: str
    digest: Digest
    effect: EffectHash
    document: bytes
    facts: bytes
    ruling: Ruling
    blobs: dict[str, bytes]
    epoch: int = 0


def propose(proposal: Proposal, ids: Ids) -> Unit[Standing]:
    """The unit that answers how the call stands; where nobody is asked it takes the claim as well."""
    request = proposal.request

    def unit(rows: Rows) -> Change[Standing]:
        draft = Draft(rows, ids)
        run = driven(rows, request.run, request.pass_no, request.process)
        found = rows.action_of_call(request.run, request.call_key)
        if found is not None:
            _same_call(rows, found, request, proposal.effect)
            return _found(draft, found)
        still_ruled_by(rows, proposal.agent, proposal.epoch)
        if request.unseen and not run.accept_divergence:
            raise Diverged(
                f"run {run.id} called {request.spec.name}, but the record expects {request.unseen} first",
                run=run.id,
                expected=request.unseen,
                got=request.spec.name,
            )
        return _begin(draft, run, proposal)

    return unit


def proposed_before(rows: Rows, request: ActionRequest, effect: EffectHash) -> Standing | None:
    """How a call that was proposed before stands, as the unit would answer; None where that has to write something."""
    driven(rows, request.run, request.pass_no, request.process)
    found = rows.action_of_call(request.run, request.call_key)
    if found is None:
        return None
    _same_call(rows, found, request, effect)
    card = rows.interrupt(found.interrupt) if found.interrupt is not None else None
    return None if due(found, card, rows.now) else Standing(found, card)


def _same_call(rows: Rows, found: Action, request: ActionRequest, effect: EffectHash) -> None:
    """A name stands for one call: with other arguments it is not that call, and nothing that was said of it holds."""
    first = rows.revision(found.id, 1) if request.named else None
    if first is not None and first.effect_hash != effect:
        raise CallError(
            "call_changed",
            f"{found.tool} was proposed under the same call id with other arguments, so it was not run",
            "Give every call an id of its own; what changes a call must do so before it is proposed.",
        )


def _found(draft: Draft, action: Action) -> Change[Standing]:
    card = draft.card(action)
    if due(action, card, draft.rows.now):
        action = draft.moved(move(action, card, Expire(), draft.rows.now))
    return draft.change(Standing(action, draft.card(action)))


def _begin(draft: Draft, run: Run, proposal: Proposal) -> Change[Standing]:
    request, spec, now = proposal.request, proposal.request.spec, draft.rows.now
    same = draft.rows.actions_with_effect(run.id, proposal.effect)
    traits = Traits(
        reversibility=spec.worst.value,
        idempotent=spec.idempotent,
        probed=spec.probed,
        composite=spec.composite,
        own_call_id=request.own_call_id,
        reach=tuple(sorted(spec.reach)),
        tool_rev=spec.tool_rev,
        kind=request.asking.kind if request.asking else ActionKind.CALL,
        answers=request.asking.answers if request.asking else (),
    )
    action = Action(
        id=proposal.action,
        run=run.id,
        agent=proposal.agent,
        tool=spec.name,
        call_key=request.call_key,
        scope=request.scope,
        seq=request.seq,
        state=ActionState.CLEARED,
        revision=1,
        digest=proposal.digest,
        effect_hash=proposal.effect,
        traits=traits,
        ruling=proposal.ruling,
        proposed_at=now,
        parent=request.parent,
        attempt=1 + sum(1 for other, revision in same if _failed(other, revision)),
    )
    opening = Opening(
        InterruptId(draft.ids()),
        repeated=_repeated(same),
        duplicate=_duplicate(same, now, request.history) if _guards_repetition(request, traits) else "",
        nested=f"{spec.name} would pause inside {request.inside}, which cannot pause" if request.inside else "",
        over_ticket=_beyond(run, request, now),
    )
    begun = draft.moved(begin(action, opening, now), f"agent:{proposal.agent}")
    draft.revisions.append(
        Revision(action.id, 1, run.id, proposal.digest, proposal.effect, proposal.document, proposal.facts, now)
    )
    draft.blobs.update(proposal.blobs)
    _count_refusals(draft, run, begun)
    if begun.state is not ActionState.CLEARED:
        return draft.change(Standing(begun, draft.card(begun)))
    stop = frozen(draft.rows, proposal.agent, spec.name, run.id)
    if stop is not None:
        return draft.change(Standing(begun, frozen=stop.scope))
    take = Take(request.process, spec.tool_rev, traits.reach, proposal.ruling, InterruptId(draft.ids()))
    taken = move(begun, None, take, now)
    draft.moved(taken, f"executor:{request.process}")
    use_ticket(draft, taken.action, spec)
    return draft.change(Standing(taken.action, claim=claim_of(taken.action, request.arguments)))


def use_ticket(draft: Draft, action: Action, spec: ToolSpec) -> None:
    """Count the first claim of an action against its run's ticket: what was only proposed has used nothing."""
    run = draft.run(action.run)
    if run is not None and run.ticket is not None:
        draft.put(replace(run, ticket=run.ticket.with_one_more(spec)))


def claim_of(action: Action, arguments: Json) -> Claim:
    """The claim just taken. One key for all tries of a revision, another one after an edit or a failure."""
    return Claim(
        action.id,
        action.fence,
        action.digest,
        arguments,
        f"{action.id}.{action.revision}",
        action.attempt,
        action.tries,
    )


def _failed(action: Action, revision: int) -> bool:
    return action.state is ActionState.FAILED and action.revision == revision


def _repeated(same: Sequence[tuple[Action, int]]) -> str:
    """The words of an earlier no, or edit, to this very effect in this run."""
    as_it_stands = {action.id for action, revision in same if revision == action.revision}
    for action, revision in same:
        if revision < action.revision and action.id not in as_it_stands:
            return f"a reviewer changed this very call of {action.tool}; the original must not be retried"
        refusal = action.refusal
        if refusal is RefusalKind.REJECTED or refusal is RefusalKind.REDIRECTED:
            said = f": {action.words}" if action.words else ""
            return f"{action.refused_by} {refusal.value} this very call before{said}"
    return ""


def _guards_repetition(request: ActionRequest, traits: Traits) -> bool:
    """Whether an equal effect is suspicious: also under a name of its own, if the history lost the first one's end."""
    return traits.guards_repetition or (request.named and not traits.reruns)


def _duplicate(same: Sequence[tuple[Action, int]], now: datetime, history: frozenset[CallKey]) -> str:
    for action, revision in same:
        if revision != action.revision or action.call_key in history:
            continue
        if action.state is ActionState.DONE and action.settled_at is not None and action.fence:
            ago = max(0, round((now - action.settled_at).total_seconds()))
            return f"identical to one that ran {ago} s ago"
        if action.state in (ActionState.EXECUTING, ActionState.IN_DOUBT):
            return f"identical to one that is {action.state.value.replace('_', ' ')}"
    return ""


def _beyond(run: Run, request: ActionRequest, now: datetime) -> str:
    """How the call goes beyond the run's ticket. Asking people is always allowed."""
    return "" if run.ticket is None or _only_asks(request) else run.ticket.against(request.spec, run.started_at, now)


def _only_asks(request: ActionRequest) -> bool:
    """Whether nothing of ours is executed whatever people say: a question, a pause with no tool of ours behind it."""
    asking = request.asking
    return asking is not None and (asking.kind is ActionKind.QUESTION or not request.spec.target)


def _count_refusals(draft: Draft, run: Run, action: Action) -> None:
    if action.refusal is RefusalKind.REPEATED:
        refusals = run.refusals + 1
        attention = run.attention
        if refusals == REFUSALS_BEFORE_ATTENTION:
            attention = f"the agent proposed {action.tool} again after it was turned down: {action.words}"
            draft.tell(EventType.RUN_NEEDS_ATTENTION, run=run, action=action, body={"why": attention})
        draft.put(replace(run, refusals=refusals, attention=attention))
    elif run.refusals and run.refusals < REFUSALS_BEFORE_ATTENTION:
        draft.put(replace(run, refusals=0))
