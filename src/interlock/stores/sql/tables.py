"""The tables, stated once. A test proves that the migrations add up to exactly this.

How values are kept: ids, digests and hashes packed (`packing`), times as integer microseconds since
the epoch in UTC, states as their words, documents and typed encodings as the bytes that they are.
In each table the columns that never change stand first, the key at the head: a change of state
rewrites only what comes after (`rows`).
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

CLAIMED = text("state IN ('executing', 'rolling_back')")
"""Actions that hold a claim. Text, as an index and the queries that use it must say this in the same words."""
DRIVEN = text("state = 'running'")
"""Runs that a process drives."""
UNENDED = text("thread <> '' AND state NOT IN ('finished', 'cancelled')")
"""Runs of a thread that may still go on."""
OPEN = text("ending IS NULL")
"""Cards that nobody has answered."""
LIVE = text("lost = 0")
"""Processes that are not marked lost."""
SOUND = text("poison = 0")
"""Work that an engine may take."""
LEASED = text("process IS NOT NULL")
"""Work that a process has taken."""
POISON = text("poison = 1")
"""Work that has failed too often."""
HELD = text("ended_at IS NULL")
"""Credentials that nobody has ended."""
FREE = text("free = 1")
"""Events that record a free call."""

parts = Table(
    "parts",
    metadata,
    # Rulings, declarations of tools and people, as short JSON: few of them, and the same again and again.
    Column("id", Integer, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    # Its first 8 bytes of SHA-256, to find it by: an index over bodies would hold each of them twice.
    Column("tag", BigInteger, nullable=False),
)
Index("parts_tagged", parts.c.tag)

schema_versions = Table(
    "schema_versions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("applied_at", BigInteger, nullable=False),
)

meta = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

clock = Table(
    "clock",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    # What changes.
    Column("agent", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("workflow", Text, nullable=False),
    Column("input", LargeBinary),
    Column("thread", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("pass_no", Integer, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("process", LargeBinary),
    Column("result", LargeBinary),
    Column("stored", SmallInteger, nullable=False),
    Column("failure", LargeBinary),
    Column("attention", Text, nullable=False),
    Column("refusals", Integer, nullable=False),
    Column("accept_divergence", SmallInteger, nullable=False),
    Column("versions", LargeBinary),
    Column("ticket", LargeBinary),
)
Index("runs_listed", runs.c.state, runs.c.started_at, runs.c.id)
Index("runs_driven", runs.c.process, sqlite_where=DRIVEN, postgresql_where=DRIVEN)
Index(
    "runs_unended",
    *(runs.c.agent, runs.c.thread, runs.c.started_at, runs.c.id),
    sqlite_where=UNENDED,
    postgresql_where=UNENDED,
)

actions = Table(
    "actions",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    Column("run", LargeBinary, ForeignKey("runs.id"), nullable=False),
    Column("call_key", LargeBinary, nullable=False),
    Column("agent", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("proposed_at", BigInteger, nullable=False),
    # What changes.
    Column("scope", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("parent", LargeBinary),
    Column("attempt", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("effect_hash", LargeBinary, nullable=False),
    Column("traits", Integer, ForeignKey("parts.id"), nullable=False),
    Column("ruling", Integer, ForeignKey("parts.id"), nullable=False),
    Column("interrupt", LargeBinary),
    Column("refusal", Text),
    Column("words", Text, nullable=False),
    Column("refused_by", Text, nullable=False),
    Column("cleared_at", BigInteger),
    Column("cleared_by", LargeBinary),
    Column("fence", Integer, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("process", LargeBinary),
    Column("claimed_at", BigInteger),
    Column("settled_at", BigInteger),
    Column("result", LargeBinary),
    Column("stored", SmallInteger, nullable=False),
    Column("failure", LargeBinary),
    Column("answered_by", Text, nullable=False),
    Column("retried", SmallInteger, nullable=False),
    # Also the index for "the actions of this run".
    UniqueConstraint("run", "call_key", name="actions_called"),
)
Index("actions_of_tool", actions.c.tool, actions.c.agent, actions.c.proposed_at)
Index("actions_claimed", actions.c.process, sqlite_where=CLAIMED, postgresql_where=CLAIMED)

revisions = Table(
    "revisions",
    metadata,
    Column("action", LargeBinary, ForeignKey("actions.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("run", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("effect_hash", LargeBinary, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("facts", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("by", LargeBinary),
)
Index("revisions_with_effect", revisions.c.run, revisions.c.effect_hash)

interrupts = Table(
    "interrupts",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("run", LargeBinary, nullable=False),
    Column("action", LargeBinary, ForeignKey("actions.id"), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("opened_at", BigInteger, nullable=False),
    Column("previous", LargeBinary),
    Column("document", LargeBinary),
    # What changes.
    Column("why", Text, nullable=False),
    Column("expires_at", BigInteger),
    Column("ending", Text),
    Column("ended_at", BigInteger),
    Column("decision", LargeBinary),
    # Where it stands in the queue. These never change either; they came later.
    Column("band", SmallInteger, nullable=False, server_default=text("10")),
    Column("agent", Text, nullable=False, server_default=text("''")),
    Column("tool", Text, nullable=False, server_default=text("''")),
    sqlite_with_rowid=False,
)
_QUEUED = (interrupts.c.band, interrupts.c.opened_at, interrupts.c.id)
Index("interrupts_queued", *_QUEUED, sqlite_where=OPEN, postgresql_where=OPEN)
Index("interrupts_of_agent", interrupts.c.agent, *_QUEUED, sqlite_where=OPEN, postgresql_where=OPEN)
Index("interrupts_of_tool", interrupts.c.tool, *_QUEUED, sqlite_where=OPEN, postgresql_where=OPEN)
Index("interrupts_due", interrupts.c.expires_at, sqlite_where=OPEN, postgresql_where=OPEN)
Index("interrupts_of_action", interrupts.c.action)

decisions = Table(
    "decisions",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    Column("interrupt", LargeBinary, ForeignKey("interrupts.id"), nullable=False),
    Column("action", LargeBinary, ForeignKey("actions.id"), nullable=False),
    Column("run", LargeBinary, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("by", Integer, ForeignKey("parts.id"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("note", Text, nullable=False),
    Column("value", LargeBinary),
    Column("shown", LargeBinary),
    Column("mode", Text, nullable=False),
    sqlite_with_rowid=False,
)
Index("decisions_of_action", decisions.c.action)

processes = Table(
    "processes",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    # What changes.
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("born", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("beat_at", BigInteger, nullable=False),
    Column("lease_s", Double, nullable=False),
    Column("lost", SmallInteger, nullable=False),
    sqlite_with_rowid=False,
)
Index("processes_live", processes.c.lost, sqlite_where=LIVE, postgresql_where=LIVE)

freezes = Table(
    "freezes",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("by", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    sqlite_with_rowid=False,
)

policies = Table(
    "policies",
    metadata,
    # The one that an agent's executors adopted last; its content is a blob.
    Column("agent", Text, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

work = Table(
    "work",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    Column("kind", Text, nullable=False),
    # What changes.
    Column("run", LargeBinary, nullable=False),
    Column("subject", Text, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("process", LargeBinary),
    Column("leased_until", BigInteger),
    Column("error", Text, nullable=False),
    Column("poison", SmallInteger, nullable=False),
    sqlite_with_rowid=False,
)
Index("work_due", work.c.due_at, sqlite_where=SOUND, postgresql_where=SOUND)
Index("work_leased", work.c.process, sqlite_where=LEASED, postgresql_where=LEASED)
Index("work_poison", work.c.id, sqlite_where=POISON, postgresql_where=POISON)

credentials = Table(
    "credentials",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("holder", Text, nullable=False),
    Column("authn", Text, nullable=False),
    # Of the secret, which is kept nowhere.
    Column("hash", LargeBinary, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    Column("label", Text, nullable=False),
    Column("parent", LargeBinary),
    # What changes.
    Column("expires_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("why", Text, nullable=False),
    sqlite_with_rowid=False,
)
Index(
    "credentials_held",
    *(credentials.c.kind, credentials.c.made_at, credentials.c.id),
    sqlite_where=HELD,
    postgresql_where=HELD,
)
Index("credentials_from", credentials.c.parent, sqlite_where=HELD, postgresql_where=HELD)

openings = Table(
    "openings",
    metadata,
    # Which folded parts of a card somebody has opened.
    Column("interrupt", LargeBinary, primary_key=True),
    Column("by", Text, primary_key=True),
    Column("part", Text, primary_key=True),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

blobs = Table(
    "blobs",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

events = Table(
    "events",
    metadata,
    # The position: SQLite's own row number, which costs nothing and never goes back, as nothing is deleted.
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("run", LargeBinary),
    # The instant of the transaction. The clock is read from the newest: it may never go back behind it.
    Column("at", BigInteger, nullable=False),
    Column("free", SmallInteger, nullable=False),
    Column("leaf", LargeBinary, nullable=False),
)
Index("events_of_run", events.c.run)
Index("events_free", events.c.run, sqlite_where=FREE, postgresql_where=FREE)
