-- The first tables. What each column holds is said in tables.py; a test proves that the two are the same.

CREATE TABLE parts (
    id INTEGER NOT NULL,
    body BLOB NOT NULL,
    tag BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX parts_tagged ON parts (tag);

CREATE TABLE schema_versions (
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    applied_at BIGINT NOT NULL,
    PRIMARY KEY (number)
);

CREATE TABLE meta (
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (name)
)
 WITHOUT ROWID;

CREATE TABLE clock (
    id INTEGER NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE runs (
    id BLOB NOT NULL,
    agent TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    workflow TEXT NOT NULL,
    input BLOB,
    thread TEXT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    pass_no INTEGER NOT NULL,
    updated_at BIGINT NOT NULL,
    process BLOB,
    result BLOB,
    stored SMALLINT NOT NULL,
    failure BLOB,
    attention TEXT NOT NULL,
    refusals INTEGER NOT NULL,
    accept_divergence SMALLINT NOT NULL,
    versions BLOB,
    ticket BLOB,
    PRIMARY KEY (id)
);

CREATE INDEX runs_driven ON runs (process) WHERE state = 'running';

CREATE INDEX runs_listed ON runs (state, started_at, id);

CREATE TABLE actions (
    id BLOB NOT NULL,
    run BLOB NOT NULL,
    call_key BLOB NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    proposed_at BIGINT NOT NULL,
    scope TEXT NOT NULL,
    seq INTEGER NOT NULL,
    parent BLOB,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL,
    revision INTEGER NOT NULL,
    digest BLOB NOT NULL,
    effect_hash BLOB NOT NULL,
    traits INTEGER NOT NULL,
    ruling INTEGER NOT NULL,
    interrupt BLOB,
    refusal TEXT,
    words TEXT NOT NULL,
    refused_by TEXT NOT NULL,
    cleared_at BIGINT,
    cleared_by BLOB,
    fence INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    process BLOB,
    claimed_at BIGINT,
    settled_at BIGINT,
    result BLOB,
    stored SMALLINT NOT NULL,
    failure BLOB,
    answered_by TEXT NOT NULL,
    retried SMALLINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT actions_called UNIQUE (run, call_key),
    FOREIGN KEY(run) REFERENCES runs (id),
    FOREIGN KEY(traits) REFERENCES parts (id),
    FOREIGN KEY(ruling) REFERENCES parts (id)
);

CREATE INDEX actions_of_tool ON actions (tool, agent, proposed_at);

CREATE INDEX actions_claimed ON actions (process) WHERE state IN ('executing', 'rolling_back');

CREATE TABLE revisions (
    action BLOB NOT NULL,
    number INTEGER NOT NULL,
    run BLOB NOT NULL,
    digest BLOB NOT NULL,
    effect_hash BLOB NOT NULL,
    document BLOB NOT NULL,
    facts BLOB NOT NULL,
    at BIGINT NOT NULL,
    "by" BLOB,
    PRIMARY KEY (action, number),
    FOREIGN KEY(action) REFERENCES actions (id)
);

CREATE INDEX revisions_with_effect ON revisions (run, effect_hash);

CREATE TABLE interrupts (
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    run BLOB NOT NULL,
    action BLOB NOT NULL,
    revision INTEGER NOT NULL,
    digest BLOB NOT NULL,
    opened_at BIGINT NOT NULL,
    previous BLOB,
    document BLOB,
    why TEXT NOT NULL,
    expires_at BIGINT,
    ending TEXT,
    ended_at BIGINT,
    decision BLOB,
    PRIMARY KEY (id),
    FOREIGN KEY(action) REFERENCES actions (id)
)
 WITHOUT ROWID;

CREATE INDEX interrupts_due ON interrupts (expires_at) WHERE ending IS NULL;

CREATE INDEX interrupts_of_action ON interrupts (action);

CREATE INDEX interrupts_open ON interrupts (opened_at, id) WHERE ending IS NULL;

CREATE TABLE decisions (
    id BLOB NOT NULL,
    interrupt BLOB NOT NULL,
    action BLOB NOT NULL,
    run BLOB NOT NULL,
    revision INTEGER NOT NULL,
    digest BLOB NOT NULL,
    verdict TEXT NOT NULL,
    "by" INTEGER NOT NULL,
    at BIGINT NOT NULL,
    note TEXT NOT NULL,
    value BLOB,
    shown BLOB,
    mode TEXT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(interrupt) REFERENCES interrupts (id),
    FOREIGN KEY(action) REFERENCES actions (id),
    FOREIGN KEY("by") REFERENCES parts (id)
)
 WITHOUT ROWID;

CREATE INDEX decisions_of_action ON decisions (action);

CREATE TABLE processes (
    id BLOB NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    born TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    beat_at BIGINT NOT NULL,
    lease_s DOUBLE NOT NULL,
    lost SMALLINT NOT NULL,
    PRIMARY KEY (id)
)
 WITHOUT ROWID;

CREATE INDEX processes_live ON processes (lost) WHERE lost = 0;

CREATE TABLE policies (
    agent TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    digest BLOB NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (agent)
)
 WITHOUT ROWID;

CREATE TABLE freezes (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    "by" TEXT NOT NULL,
    at BIGINT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (scope, name)
)
 WITHOUT ROWID;

CREATE TABLE work (
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    run BLOB NOT NULL,
    subject TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    process BLOB,
    leased_until BIGINT,
    error TEXT NOT NULL,
    poison SMALLINT NOT NULL,
    PRIMARY KEY (id)
)
 WITHOUT ROWID;

CREATE INDEX work_due ON work (due_at) WHERE poison = 0;

CREATE INDEX work_leased ON work (process) WHERE process IS NOT NULL;

CREATE INDEX work_poison ON work (id) WHERE poison = 1;

CREATE TABLE blobs (
    digest BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (digest)
);

CREATE TABLE events (
    seq INTEGER NOT NULL,
    run BLOB,
    at BIGINT NOT NULL,
    free SMALLINT NOT NULL,
    leaf BLOB NOT NULL,
    PRIMARY KEY (seq)
);

CREATE INDEX events_free ON events (run) WHERE free = 1;

CREATE INDEX events_of_run ON events (run);

INSERT INTO clock (id, at) VALUES (0, 0);
