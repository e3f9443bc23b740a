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
COMMENT ON COLUMN penalty_usage.period IS 'name of the period; all in a one-off audit';
COMMENT ON COLUMN penalty_usage.penalty IS 'name of the penalty, which defines the charge per second; see docs/penalties.md';
COMMENT ON COLUMN penalty_usage.configured IS 'whether config.toml selects this penalty';
COMMENT ON COLUMN penalty_usage.entity_kind IS 'kind of the entity: user or account';
COMMENT ON COLUMN penalty_usage.entity IS 'name of the user or account; NULL where the log does not give it';
COMMENT ON COLUMN penalty_usage.usage IS 'usage within the period, not decayed; penalty-seconds';
COMMENT ON COLUMN penalty_usage.usage_fraction IS 'usage as a fraction of the usage of all users under this penalty; 0 to 1';
COMMENT ON COLUMN penalty_usage.run_id IS 'run that computed the row; see runs';
