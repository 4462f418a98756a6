"""The statements, stated once in SQLAlchemy Core and compiled once to text for the driver.

Hot paths run the text on the driver itself: a statement that is compiled, cached and cursored by
SQLAlchemy for each call costs more than the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.sql.expression import ClauseElement

from interlock.stores.sql import tables as t


@dataclass(frozen=True, slots=True)
class Statement:
    """Text for the driver; `names` are its `?` in their order, `parts` the places of values that are kept apart."""

    sql: str
    names: tuple[str, ...]
    parts: tuple[int, ...] = ()


def _compiled(clause: ClauseElement, tail: str = "", *names: str) -> Statement:
    compiled: Any = clause.compile(dialect=sqlite.dialect(paramstyle="qmark"))
    return Statement(" ".join(str(compiled).split()) + tail, (*(compiled.positiontup or ()), *names))


def _limited(query: ClauseElement) -> Statement:
    # SQLAlchemy's own limit for SQLite always brings an offset along.
    return _compiled(query, " LIMIT ?", "limit")


def _parts(table: Table) -> tuple[int, ...]:
    """The places of the columns that refer to `parts`."""
    return tuple(place for place, one in enumerate(table.columns) if one.references(t.parts.c.id))


def _with_parts(table: Table, *more: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    """All columns of a table, with the parts themselves instead of their numbers."""
    found: list[ColumnElement[Any]] = []
    rows: FromClause = table
    for one in table.columns:
        if one.references(t.parts.c.id):
            part = t.parts.alias(f"{one.name}_part")
            rows = rows.join(part, part.c.id == one)
            found.append(part.c.body)
        else:
            found.append(one)
    return select(*found, *more).select_from(rows)


def _added(table: Table) -> Statement:
    stated = _compiled(insert(table))
    return Statement(stated.sql, stated.names, _parts(table))


def _added_once(table: Table) -> Statement:
    return _compiled(insert(table).prefix_with("OR IGNORE"))


def _put(table: Table, changing: str, key: str = "id") -> Statement:
    """Add a row, or change the one with its key: the columns from `changing` on."""
    columns = list(table.columns)
    put = upsert(table)
    changes: dict[str, Any] = {one.name: put.excluded[one.name] for one in columns[columns.index(table.c[changing]) :]}
    stated = _compiled(put.on_conflict_do_update(index_elements=[table.c[key]], set_=changes))
    return Statement(stated.sql, stated.names, _parts(table))


# Runs and what drives them.

RUN = _compiled(select(t.runs).where(t.runs.c.id == bindparam("id")))
RUN_PLACE = _compiled(select(t.runs.c.started_at).where(t.runs.c.id == bindparam("id")))
_NEWEST = (t.runs.c.started_at.desc(), t.runs.c.id.desc())
_LISTED = select(t.runs).where(t.runs.c.state == bindparam("state")).order_by(*_NEWEST)
RUNS = _limited(_LISTED)
RUNS_AFTER = _limited(
    _LISTED.where(tuple_(t.runs.c.started_at, t.runs.c.id) < tuple_(bindparam("started_at"), bindparam("id")))
)
UNENDED_RUN = _compiled(
    select(t.runs)
    .where(t.runs.c.agent == bindparam("agent"), t.runs.c.thread == bindparam("thread"), t.UNENDED)
    .order_by(t.runs.c.started_at.desc(), t.runs.c.id.desc())
)
RUNS_OF_PROCESS = _compiled(
    select(t.runs).where(t.runs.c.process == bindparam("process"), t.DRIVEN).order_by(t.runs.c.started_at, t.runs.c.id)
)
PROCESS = _compiled(select(t.processes).where(t.processes.c.id == bindparam("id")))
PROCESSES = _compiled(select(t.processes).where(t.LIVE).order_by(t.processes.c.id))
FREEZES = _compiled(select(t.freezes).order_by(t.freezes.c.at, t.freezes.c.scope, t.freezes.c.name))

PUT_RUN = _put(t.runs, "agent")
PUT_PROCESS = _put(t.processes, "host")
POLICY = _compiled(select(t.policies).where(t.policies.c.agent == bindparam("agent")))
PUT_POLICY = _put(t.policies, "epoch", "agent")
ADD_FREEZE = _added(t.freezes)
DROP_FREEZE = _compiled(
    delete(t.freezes).where(t.freezes.c.scope == bindparam("scope"), t.freezes.c.name == bindparam("name"))
)

# Actions and their revisions.

_ACTIONS = _with_parts(t.actions)
_IN_ORDER = (t.actions.c.seq, t.actions.c.id)
ACTION = _compiled(_ACTIONS.where(t.actions.c.id == bindparam("id")))
ACTION_OF_CALL = _compiled(
    _ACTIONS.where(t.actions.c.run == bindparam("run"), t.actions.c.call_key == bindparam("call_key"))
)
ACTIONS_OF_RUN = _compiled(_ACTIONS.where(t.actions.c.run == bindparam("run")).order_by(*_IN_ORDER))
ACTIONS_WITH_EFFECT = _compiled(
    _with_parts(t.actions, t.revisions.c.number)
    .join(t.revisions, t.revisions.c.action == t.actions.c.id)
    .where(t.revisions.c.run == bindparam("run"), t.revisions.c.effect_hash == bindparam("effect_hash"))
    .order_by(*_IN_ORDER, t.revisions.c.number)
)
_IN_RUN = select(func.count()).select_from(t.actions).where(t.actions.c.run == bindparam("run"))
COUNT_IN_RUN = _compiled(_IN_RUN)
COUNT_IN_RUN_OF_TOOL = _compiled(_IN_RUN.where(t.actions.c.tool == bindparam("tool")))
_CALLS = _limited(
    select(t.actions.c.tool).where(
        t.actions.c.tool == bindparam("tool"),
        t.actions.c.agent == bindparam("agent"),
        t.actions.c.proposed_at >= bindparam("since"),
    )
)
COUNT_CALLS = Statement(f"SELECT count(*) FROM ({_CALLS.sql})", _CALLS.names)  # noqa: S608 - our own statement
CLAIMS_OF_PROCESS = _compiled(
    _ACTIONS.where(t.actions.c.process == bindparam("process"), t.CLAIMED).order_by(t.actions.c.id)
)
REVISION = _compiled(
    select(t.revisions).where(t.revisions.c.action == bindparam("action"), t.revisions.c.number == bindparam("number"))
)
REVISIONS = _compiled(
    select(t.revisions).where(t.revisions.c.action == bindparam("action")).order_by(t.revisions.c.number)
)
BLOB = _compiled(select(t.blobs.c.body).where(t.blobs.c.digest == bindparam("digest")))

PUT_ACTION = _put(t.actions, "scope")
ADD_REVISION = _added(t.revisions)
ADD_BLOB = _added_once(t.blobs)

# Cards and what people said.

INTERRUPT = _compiled(select(t.interrupts).where(t.interrupts.c.id == bindparam("id")))
INTERRUPT_PLACE = _compiled(
    select(t.interrupts.c.band, t.interrupts.c.opened_at).where(t.interrupts.c.id == bindparam("id"))
)
_OLDEST = (t.interrupts.c.opened_at, t.interrupts.c.id)
INTERRUPTS_OF_ACTION = _compiled(
    select(t.interrupts).where(t.interrupts.c.action == bindparam("action")).order_by(*_OLDEST)
)
_EXPIRES_AT = t.interrupts.c.expires_at
DUE_INTERRUPTS = _limited(select(t.interrupts).where(t.OPEN, bindparam("now") >= _EXPIRES_AT).order_by(_EXPIRES_AT))
_DECISIONS = _with_parts(t.decisions)
DECISION = _compiled(_DECISIONS.where(t.decisions.c.id == bindparam("id")))
DECISIONS_OF_ACTION = _compiled(
    _DECISIONS.where(t.decisions.c.action == bindparam("action")).order_by(t.decisions.c.at, t.decisions.c.id)
)

_QUEUED = (t.interrupts.c.band, t.interrupts.c.opened_at, t.interrupts.c.id)
CARDED = (len(t.interrupts.c), len(t.actions.c), len(t.runs.c))
"""How many columns of a row of `queued(..., whole=True)` belong to the card, to its action and to its run."""


@cache
def queued(names: tuple[str, ...], *, after: bool, whole: bool = False) -> Statement:
    """A page of open cards: `names` are the columns that a queue fixes, `since` among them for its instant.

    With `whole` each row goes on with the action, the run and the revision. Values come in the order of `names`,
    then the place behind which the page begins, then the limit.
    """
    conditions: list[ColumnElement[Any]] = [t.OPEN]  # type: ignore[list-item]
    for name in names:
        column = t.interrupts.c.opened_at if name == "since" else t.interrupts.c[name]
        conditions.append(column > bindparam(name) if name == "since" else column == bindparam(name))
    if after:
        conditions.append(tuple_(*_QUEUED) > tuple_(bindparam("p_band"), bindparam("p_opened_at"), bindparam("p_id")))
    if not whole:
        return _limited(select(t.interrupts).where(*conditions).order_by(*_QUEUED))
    actions = _with_parts(t.actions)
    query = (
        select(*t.interrupts.c, *actions.selected_columns, *t.runs.c, *t.revisions.c)
        .select_from(
            actions.get_final_froms()[0]
            .join(t.interrupts, t.interrupts.c.action == t.actions.c.id)
            .join(t.runs, t.runs.c.id == t.interrupts.c.run)
            .join(
                t.revisions,
                (t.revisions.c.action == t.actions.c.id) & (t.revisions.c.number == t.interrupts.c.revision),
            )
        )
        .where(*conditions)
        .order_by(*_QUEUED)
    )
    return _limited(query)


PUT_INTERRUPT = _put(t.interrupts, "why")
ADD_DECISION = _added(t.decisions)

# Who may come in, and what they have looked at.

CREDENTIAL = _compiled(select(t.credentials).where(t.credentials.c.id == bindparam("id")))
CREDENTIAL_PLACE = _compiled(select(t.credentials.c.made_at).where(t.credentials.c.id == bindparam("id")))
_HELD = (
    select(t.credentials)
    .where(t.credentials.c.kind == bindparam("kind"), t.HELD)
    .order_by(t.credentials.c.made_at.desc(), t.credentials.c.id.desc())
)
CREDENTIALS = _limited(_HELD)
CREDENTIALS_AFTER = _limited(
    _HELD.where(tuple_(t.credentials.c.made_at, t.credentials.c.id) < tuple_(bindparam("made_at"), bindparam("id")))
)
SESSIONS_FROM = _compiled(
    select(t.credentials).where(t.credentials.c.parent == bindparam("parent"), t.HELD).order_by(t.credentials.c.id)
)
OPENINGS = _compiled(
    select(t.openings)
    .where(t.openings.c.interrupt == bindparam("interrupt"), t.openings.c.by == bindparam("by"))
    .order_by(t.openings.c.part)
)

PUT_CREDENTIAL = _put(t.credentials, "expires_at")
ADD_OPENING = _added_once(t.openings)

# Events and work.

_KEPT = (t.events.c.run, t.events.c.at, t.events.c.leaf)
_LEAVES = select(t.events.c.seq, *_KEPT).where(t.events.c.seq > bindparam("after")).order_by(t.events.c.seq)
EVENTS = _limited(_LEAVES)
EVENTS_OF_RUN = _limited(_LEAVES.where(t.events.c.run == bindparam("run")))
LAST_POSITION = _compiled(select(func.max(t.events.c.seq)))
FREE_CALLS = _compiled(select(*_KEPT).where(t.events.c.run == bindparam("run"), t.FREE).order_by(t.events.c.seq))
WORK = _compiled(select(t.work).where(t.work.c.id == bindparam("id")))
DUE_WORK = _limited(
    select(t.work)
    .where(
        t.SOUND,
        t.work.c.due_at <= bindparam("now"),
        or_(t.work.c.leased_until.is_(None), t.work.c.leased_until <= bindparam("lease_now")),
    )
    .order_by(t.work.c.due_at)
)
WORK_OF_PROCESS = _compiled(
    select(t.work).where(t.work.c.process == bindparam("process"), t.LEASED).order_by(t.work.c.due_at, t.work.c.id)
)
POISON_WORK = _limited(select(t.work).where(t.POISON).order_by(t.work.c.id))
POISON_WORK_AFTER = _limited(select(t.work).where(t.POISON, t.work.c.id > bindparam("after")).order_by(t.work.c.id))

ADD_EVENT = _compiled(insert(t.events).values({name: bindparam(name) for name in ("run", "at", "free", "leaf")}))
PUT_WORK = _put(t.work, "run")
DROP_WORK = _compiled(delete(t.work).where(t.work.c.id == bindparam("id")))

# What is kept apart.

PART = _compiled(select(t.parts.c.id).where(t.parts.c.tag == bindparam("tag"), t.parts.c.body == bindparam("body")))
ADD_PART = _compiled(insert(t.parts).values(tag=bindparam("tag"), body=bindparam("body")))

# The clock, and what the store knows of itself.

_LAST_EVENT = select(t.events.c.at).where(t.events.c.seq == select(func.max(t.events.c.seq)).scalar_subquery())
LATEST = _compiled(select(_LAST_EVENT.scalar_subquery(), select(t.clock.c.at).scalar_subquery()))
SET_CLOCK = _compiled(update(t.clock).values(at=bindparam("now")))
META = _compiled(select(t.meta.c.value).where(t.meta.c.name == bindparam("name")))
ADD_META = _added(t.meta)
SCHEMA_VERSION = _compiled(select(func.max(t.schema_versions.c.number)))
ADD_SCHEMA_VERSION = _added(t.schema_versions)
