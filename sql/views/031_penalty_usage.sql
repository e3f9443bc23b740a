-- Undecayed usage of users and accounts in each period under several penalties.
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

COMMENT ON VIEW penalty_usage IS 'Undecayed usage of users and accounts in each period under several penalties.';
COMMENT ON COLUMN penalty_usage.cluster IS 'name of the cluster';
COMMENT ON COLUMN penalty_usage.period IS 'name of the period, or all';
COMMENT ON COLUMN penalty_usage.penalty IS 'penalty, which defines the charge per second; see docs/penalties.md';
COMMENT ON COLUMN penalty_usage.configured IS 'whether this penalty is configured';
COMMENT ON COLUMN penalty_usage.entity_kind IS 'user or account';
COMMENT ON COLUMN penalty_usage.entity IS 'user or account; NULL: not in the log';
COMMENT ON COLUMN penalty_usage.usage IS 'usage within the period, not decayed; penalty-seconds';
COMMENT ON COLUMN penalty_usage.usage_fraction IS 'fraction of all such usage; 0 to 1';
COMMENT ON COLUMN penalty_usage.run_id IS 'run that computed the row; see runs';
