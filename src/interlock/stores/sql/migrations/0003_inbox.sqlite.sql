CREATE TABLE credentials (
	id BLOB NOT NULL,
	kind TEXT NOT NULL,
	holder TEXT NOT NULL,
	authn TEXT NOT NULL,
	hash BLOB NOT NULL,
	made_at BIGINT NOT NULL,
	label TEXT NOT NULL,
	parent BLOB,
	expires_at BIGINT,
	ended_at BIGINT,
	why TEXT NOT NULL,
	PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX credentials_held ON credentials (kind, made_at, id) WHERE ended_at IS NULL;
CREATE INDEX credentials_from ON credentials (parent) WHERE ended_at IS NULL;
CREATE TABLE openings (
	interrupt BLOB NOT NULL,
	"by" TEXT NOT NULL,
	part TEXT NOT NULL,
	"at" BIGINT NOT NULL,
	PRIMARY KEY (interrupt, "by", part)
) WITHOUT ROWID;
ALTER TABLE interrupts ADD COLUMN band SMALLINT NOT NULL DEFAULT 10;
ALTER TABLE interrupts ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE interrupts ADD COLUMN tool TEXT NOT NULL DEFAULT '';
UPDATE interrupts SET
	agent = (SELECT actions.agent FROM actions WHERE actions.id = interrupts.action),
	tool = (SELECT actions.tool FROM actions WHERE actions.id = interrupts.action),
	band = CASE kind WHEN 'reconcile' THEN 0 WHEN 'question' THEN 30 ELSE 10 END;
DROP INDEX interrupts_open;
CREATE INDEX interrupts_queued ON interrupts (band, opened_at, id) WHERE ending IS NULL;
CREATE INDEX interrupts_of_agent ON interrupts (agent, band, opened_at, id) WHERE ending IS NULL;
CREATE INDEX interrupts_of_tool ON interrupts (tool, band, opened_at, id) WHERE ending IS NULL;
