-- Stages of runs and their states.
CREATE OR REPLACE VIEW runs AS
SELECT
    run_id,
    cluster,
    period,
    stage,
    state,
    to_timestamp(started_at) AS started_at,
    to_timestamp(ended_at) AS ended_at,
    error,
    version,
    config_hash,
    input_hash
FROM run;

COMMENT ON VIEW runs IS 'Stages of runs and their states.';
COMMENT ON COLUMN runs.run_id IS 'hash of version, configuration, inputs, cluster and period';
COMMENT ON COLUMN runs.cluster IS 'name of the cluster';
COMMENT ON COLUMN runs.period IS 'name of the period';
COMMENT ON COLUMN runs.stage IS 'ingest, compute, publish, report, …';
COMMENT ON COLUMN runs.state IS 'done, failed, …';
COMMENT ON COLUMN runs.started_at IS 'when it began; NULL in a one-off audit';
COMMENT ON COLUMN runs.ended_at IS 'when it ended; NULL in a one-off audit';
COMMENT ON COLUMN runs.error IS 'what went wrong';
COMMENT ON COLUMN runs.version IS 'of fairaudit';
COMMENT ON COLUMN runs.config_hash IS 'SHA-256 of the configuration in force';
COMMENT ON COLUMN runs.input_hash IS 'SHA-256 over the inputs';
