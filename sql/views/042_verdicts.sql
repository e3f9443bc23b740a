-- The verdict of each report: whether a pool was fair in a period.
CREATE OR REPLACE VIEW verdicts AS
SELECT
    cluster,
    pool,
    period,
    to_timestamp(from_time) AS from_time,
    to_timestamp(to_time) AS to_time,
    verdict,
    sentence,
    run_id
FROM verdict_result;

COMMENT ON VIEW verdicts IS 'The verdict of each report: whether a pool was fair in a period, by the limits in section [verdict] of config.toml.';
COMMENT ON COLUMN verdicts.cluster IS 'name of the cluster';
COMMENT ON COLUMN verdicts.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN verdicts.period IS 'name of the period; all for a one-off audit';
COMMENT ON COLUMN verdicts.from_time IS 'when the period begins';
COMMENT ON COLUMN verdicts.to_time IS 'when it ends';
COMMENT ON COLUMN verdicts.verdict IS 'fair, mixed, unfair or cannot tell';
COMMENT ON COLUMN verdicts.sentence IS 'the verdict as on page 1 of the report';
COMMENT ON COLUMN verdicts.run_id IS 'run that computed the figures; see runs';
