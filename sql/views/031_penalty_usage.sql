-- What users and accounts used in each period under several penalties, undecayed.
CREATE OR REPLACE VIEW penalty_usage AS
SELECT
    cluster,
    period,
    penalty,
    configured,
    entity_kind,
    entity,
    usage,
    usage_fraction,
    run_id
FROM penalty_result;

COMMENT ON VIEW penalty_usage IS 'What users and accounts used in each period under several penalties, undecayed.';
COMMENT ON COLUMN penalty_usage.cluster IS 'name of the cluster';
COMMENT ON COLUMN penalty_usage.period IS 'name of the period, or all';
COMMENT ON COLUMN penalty_usage.penalty IS 'what an occupied second costs; see docs/penalties.md';
COMMENT ON COLUMN penalty_usage.configured IS 'whether usage is charged by this penalty';
COMMENT ON COLUMN penalty_usage.entity_kind IS 'user or account';
COMMENT ON COLUMN penalty_usage.entity IS 'user or account; NULL: the log names none';
COMMENT ON COLUMN penalty_usage.usage IS 'usage within the period, not decayed; penalty-seconds';
COMMENT ON COLUMN penalty_usage.usage_fraction IS 'part of all such usage; 0 to 1';
COMMENT ON COLUMN penalty_usage.run_id IS 'run that computed the row; see runs';
