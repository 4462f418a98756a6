CREATE INDEX runs_unended ON runs (agent, thread, started_at, id) WHERE thread <> '' AND state NOT IN ('finished', 'cancelled');
