-- The verdict of each report: whether a pool was shared fairly in a period.
CREATE OR REPLACE VIEW verdicts AS
SELECT
    cluster,
    pool,
    period,
    to_timestamp(from_time) AS from_time,
    to_timestamp(to_time) AS to_time,
    to_timestamp(base_from) AS base_from,
    verdict,
    sentence,
    because,
    bounds,
    not_judged,
    treated_worse,
    not_tested,
    run_id
FROM verdict_result;

COMMENT ON VIEW verdicts IS 'The verdict of each report: whether a pool was shared fairly in a period, by the thresholds in section [verdict] of config.toml. The word of the site is that of the pool with most waiting.';
COMMENT ON COLUMN verdicts.cluster IS 'name of the cluster';
COMMENT ON COLUMN verdicts.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN verdicts.period IS 'name of the period; all for a one-off audit';
COMMENT ON COLUMN verdicts.from_time IS 'when the period begins';
COMMENT ON COLUMN verdicts.to_time IS 'when it ends';
COMMENT ON COLUMN verdicts.base_from IS 'when the base begins, by which the verdict is decided: the period, or the 91 days up to its end; NULL in reports of a version before';
COMMENT ON COLUMN verdicts.verdict IS 'quiet, cannot tell, unfair, mixed or fair';
COMMENT ON COLUMN verdicts.sentence IS 'the verdict as on page 1 of the report';
COMMENT ON COLUMN verdicts.because IS 'the condition that decided: few_jobs, few_starts, unknown_users, one_user, part, missing_days, refused, little_waiting, not_judged, treated_worse, not_tested or none';
COMMENT ON COLUMN verdicts.bounds IS 'the bounds reached, which hold for the next report: not_judged, treated_worse, not_tested';
COMMENT ON COLUMN verdicts.not_judged IS 'share of the waiting of the base that cannot be judged; NULL where nothing waited';
COMMENT ON COLUMN verdicts.treated_worse IS 'share of it that is passed time of users or accounts that later jobs overtook more often than others, without a known cause';
COMMENT ON COLUMN verdicts.not_tested IS 'share of it that is passed time of users who could not be tested';
COMMENT ON COLUMN verdicts.run_id IS 'run that computed the figures; see runs';
