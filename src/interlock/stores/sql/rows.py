"""Row <-> domain: the only place that knows both.

`…_row` gives the values of a table's columns in their order, `read_…` takes such a row. Parts that are
kept as short JSON are in `forms`.
"""

# ruff: noqa: D103  the head says what each pair of functions does

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias, cast

from interlock.domain.action import Action, ActionState, RefusalKind, Revision
from interlock.domain.decision import Decision, Verdict
from interlock.domain.ids import (
    ActionId,
    CallKey,
    DecisionId,
    Digest,
    EffectHash,
    InterruptId,
    ProcessId,
    RunId,
)
from interlock.domain.interrupt import Band, Ending, Interrupt, InterruptKind
from interlock.domain.ruling import PolicyVersion
from interlock.domain.run import Freeze, Process, Run, RunState, Work, WorkKind
from interlock.stores.sql.documents import pack_document, unpack_document
from interlock.stores.sql.forms import (
    principal_bytes,
    read_principal,
    read_ruling,
    read_shown,
    read_ticket,
    read_traits,
    read_versions,
    ruling_bytes,
    shown_bytes,
    ticket_bytes,
    traits_bytes,
    versions_bytes,
)
from interlock.stores.sql.packing import pack, unpack
from interlock.stores.sql.times import instant, micros

Row: TypeAlias = tuple[Any, ...]
"""A row as the driver takes and gives it: bytes, text, numbers, None (booleans as integers: bound without a detour)."""


# Looking a member up in a dictionary costs a tenth of calling its class.
_RUN_STATES = {one.value: one for one in RunState}
_ACTION_STATES = {one.value: one for one in ActionState}
_REFUSALS = {one.value: one for one in RefusalKind}
_KINDS = {one.value: one for one in InterruptKind}
_BANDS = {one.value: one for one in Band}
_ENDINGS = {one.value: one for one in Ending}
_VERDICTS = {one.value: one for one in Verdict}
_WORK_KINDS = {one.value: one for one in WorkKind}


def _micros(at: datetime | None) -> int | None:
    return None if at is None else micros(at)


def _instant(at: int | None) -> datetime | None:
    return None if at is None else instant(at)


def _pack(name: str | None) -> bytes | None:
    return None if name is None else pack(name)


def _unpack(name: bytes | None) -> str | None:
    return None if name is None else unpack(name)


def run_row(run: Run) -> Row:
    return (
        pack(run.id),
        run.agent,
        micros(run.started_at),
        run.workflow,
        run.input,
        run.thread,
        run.owner,
        run.state.value,
        run.pass_no,
        micros(run.updated_at),
        _pack(run.process),
        run.result,
        int(run.stored),
        run.failure,
        run.attention,
        run.refusals,
        int(run.accept_divergence),
        versions_bytes(run.versions),
        ticket_bytes(run.ticket),
    )


def read_run(row: Row) -> Run:
    (
        id_, agent, started_at, workflow, input_, thread, owner, state, pass_no, updated_at, process, result, stored,
        failure, attention, refusals, accept_divergence, versions, ticket,
    ) = row  # fmt: skip
    return Run(
        id=RunId(unpack(id_)),
        agent=agent,
        state=_RUN_STATES[state],
        pass_no=pass_no,
        started_at=instant(started_at),
        updated_at=instant(updated_at),
        workflow=workflow,
        input=input_,
        thread=thread,
        owner=owner,
        process=cast("ProcessId | None", _unpack(process)),
        result=result,
        stored=bool(stored),
        failure=failure,
        attention=attention,
        refusals=refusals,
        accept_divergence=bool(accept_divergence),
        versions=read_versions(versions),
        ticket=read_ticket(ticket),
    )


def action_row(action: Action) -> Row:
    return (
        pack(action.id),
        pack(action.run),
        pack(action.call_key),
        action.agent,
        action.tool,
        micros(action.proposed_at),
        action.scope,
        action.seq,
        _pack(action.parent),
        action.attempt,
        action.state.value,
        action.revision,
        pack(action.digest),
        pack(action.effect_hash),
        traits_bytes(action.traits),
        ruling_bytes(action.ruling),
        _pack(action.interrupt),
        None if action.refusal is None else action.refusal.value,
        action.words,
        action.refused_by,
        _micros(action.cleared_at),
        _pack(action.cleared_by),
        action.fence,
        action.tries,
        _pack(action.process),
        _micros(action.claimed_at),
        _micros(action.settled_at),
        action.result,
        int(action.stored),
        action.failure,
        action.answered_by,
        int(action.retried),
    )


def read_action(row: Row) -> Action:
    (
        id_, run, call_key, agent, tool, proposed_at, scope, seq, parent, attempt, state, revision, digest, effect_hash,
        traits, ruling, interrupt, refusal, words, refused_by, cleared_at, cleared_by, fence, tries, process,
        claimed_at, settled_at, result, stored, failure, answered_by, retried,
    ) = row  # fmt: skip
    return Action(
        id=ActionId(unpack(id_)),
        run=RunId(unpack(run)),
        agent=agent,
        tool=tool,
        call_key=CallKey(unpack(call_key)),
        scope=scope,
        seq=seq,
        state=_ACTION_STATES[state],
        revision=revision,
        digest=Digest(unpack(digest)),
        effect_hash=EffectHash(unpack(effect_hash)),
        traits=read_traits(traits),
        ruling=read_ruling(ruling),
        proposed_at=instant(proposed_at),
        parent=cast("ActionId | None", _unpack(parent)),
        attempt=attempt,
        interrupt=cast("InterruptId | None", _unpack(interrupt)),
        refusal=None if refusal is None else _REFUSALS[refusal],
        words=words,
        refused_by=refused_by,
        cleared_at=_instant(cleared_at),
        cleared_by=cast("DecisionId | None", _unpack(cleared_by)),
        fence=fence,
        tries=tries,
        process=cast("ProcessId | None", _unpack(process)),
        claimed_at=_instant(claimed_at),
        settled_at=_instant(settled_at),
        result=result,
        stored=bool(stored),
        failure=failure,
        answered_by=answered_by,
        retried=bool(retried),
    )


def revision_row(revision: Revision) -> Row:
    return (
        pack(revision.action),
        revision.number,
        pack(revision.run),
        pack(revision.digest),
        pack(revision.effect_hash),
        pack_document(revision.document),
        pack_document(revision.facts),
        micros(revision.at),
        _pack(revision.by),
    )


def read_revision(row: Row) -> Revision:
    action, number, run, digest, effect_hash, document, facts, at, by = row
    return Revision(
        action=ActionId(unpack(action)),
        number=number,
        run=RunId(unpack(run)),
        digest=Digest(unpack(digest)),
        effect_hash=EffectHash(unpack(effect_hash)),
        document=unpack_document(document),
        facts=unpack_document(facts),
        at=instant(at),
        by=cast("DecisionId | None", _unpack(by)),
    )


def interrupt_row(card: Interrupt) -> Row:
    return (
        pack(card.id),
        card.kind.value,
        pack(card.run),
        pack(card.action),
        card.revision,
        pack(card.digest),
        micros(card.opened_at),
        _pack(card.previous),
        card.document,
        card.why,
        _micros(card.expires_at),
        None if card.ending is None else card.ending.value,
        _micros(card.ended_at),
        _pack(card.decision),
        card.band.value,
        card.agent,
        card.tool,
    )


def read_interrupt(row: Row) -> Interrupt:
    (
        id_, kind, run, action, revision, digest, opened_at, previous, document, why, expires_at, ending, ended_at,
        decision, band, agent, tool,
    ) = row  # fmt: skip
    return Interrupt(
        id=InterruptId(unpack(id_)),
        kind=_KINDS[kind],
        run=RunId(unpack(run)),
        action=ActionId(unpack(action)),
        revision=revision,
        digest=Digest(unpack(digest)),
        opened_at=instant(opened_at),
        expires_at=_instant(expires_at),
        why=why,
        previous=cast("InterruptId | None", _unpack(previous)),
        document=document,
        ending=None if ending is None else _ENDINGS[ending],
        ended_at=_instant(ended_at),
        decision=cast("DecisionId | None", _unpack(decision)),
        band=_BANDS[band],
        agent=agent,
        tool=tool,
    )


def decision_row(decision: Decision) -> Row:
    return (
        pack(decision.id),
        pack(decision.interrupt),
        pack(decision.action),
        pack(decision.run),
        decision.revision,
        pack(decision.digest),
        decision.verdict.value,
        principal_bytes(decision.by),
        micros(decision.at),
        decision.note,
        decision.value,
        shown_bytes(decision.shown),
        decision.mode,
    )


def read_decision(row: Row) -> Decision:
    id_, interrupt, action, run, revision, digest, verdict, by, at, note, value, shown, mode = row
    return Decision(
        id=DecisionId(unpack(id_)),
        interrupt=InterruptId(unpack(interrupt)),
        action=ActionId(unpack(action)),
        run=RunId(unpack(run)),
        revision=revision,
        digest=Digest(unpack(digest)),
        verdict=_VERDICTS[verdict],
        by=read_principal(by),
        at=instant(at),
        note=note,
        value=value,
        shown=read_shown(shown),
        mode=mode,
    )


def process_row(process: Process) -> Row:
    return (
        pack(process.id),
        process.host,
        process.pid,
        process.born,
        micros(process.started_at),
        micros(process.beat_at),
        process.lease_s,
        int(process.lost),
    )


def read_process(row: Row) -> Process:
    id_, host, pid, born, started_at, beat_at, lease_s, lost = row
    return Process(ProcessId(unpack(id_)), host, pid, born, instant(started_at), instant(beat_at), lease_s, bool(lost))


def freeze_row(freeze: Freeze) -> Row:
    return (freeze.scope, freeze.name, freeze.by, micros(freeze.at), freeze.reason)


def read_freeze(row: Row) -> Freeze:
    scope, name, by, at, reason = row
    return Freeze(scope, name, by, instant(at), reason)


def policy_row(policy: PolicyVersion) -> Row:
    return (policy.agent, policy.epoch, pack(policy.digest), micros(policy.at))


def read_policy(row: Row) -> PolicyVersion:
    agent, epoch, digest, at = row
    return PolicyVersion(agent, epoch, unpack(digest), instant(at))


def work_row(work: Work) -> Row:
    return (
        pack(work.id),
        work.kind.value,
        pack(work.run),
        work.subject,
        micros(work.due_at),
        work.attempts,
        _pack(work.process),
        _micros(work.leased_until),
        work.error,
        int(work.poison),
    )


def read_work(row: Row) -> Work:
    id_, kind, run, subject, due_at, attempts, process, leased_until, error, poison = row
    return Work(
        id=unpack(id_),
        kind=_WORK_KINDS[kind],
        run=RunId(unpack(run)),
        subject=subject,
        due_at=instant(due_at),
        attempts=attempts,
        process=cast("ProcessId | None", _unpack(process)),
        leased_until=_instant(leased_until),
        error=error,
        poison=bool(poison),
    )
