-- Runs that made the current figures and reports, and the history of all runs by stage.
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
FROM run
UNION ALL
SELECT
    'run ' || run AS run_id,
    cluster,
    period,
    stage,
    state,
    to_timestamp(started_at) AS started_at,
    to_timestamp(ended_at) AS ended_at,
    error,
    version,
    NULL AS config_hash,
    NULL AS input_hash
FROM history;

COMMENT ON VIEW runs IS 'Runs that made the current figures and reports, with hashes of their configuration and inputs, and the history of all runs by stage.';
COMMENT ON COLUMN runs.run_id IS 'id of the run: for figures and reports a hash of version, configuration, inputs, cluster and period; in the history, run and its number';
COMMENT ON COLUMN runs.cluster IS 'name of the cluster; NULL where the run is of all clusters';
COMMENT ON COLUMN runs.period IS 'name of the period; NULL where the run is of all periods';
COMMENT ON COLUMN runs.stage IS 'stage: ingest, compute, report, publish or deliver; run is a whole run';
COMMENT ON COLUMN runs.state IS 'state: done, failed, or abandoned (it was killed or stopped)';
COMMENT ON COLUMN runs.started_at IS 'when the stage began; NULL in a one-off audit, and for figures and reports';
COMMENT ON COLUMN runs.ended_at IS 'when the stage ended; NULL in a one-off audit';
COMMENT ON COLUMN runs.error IS 'error message of a stage that failed or was abandoned; of a stage that is done, workers that failed; else NULL';
COMMENT ON COLUMN runs.version IS 'version of fairaudit that ran';
COMMENT ON COLUMN runs.config_hash IS 'SHA-256 of the configuration in force; NULL in the history';
COMMENT ON COLUMN runs.input_hash IS 'SHA-256 of the inputs; NULL in the history';
