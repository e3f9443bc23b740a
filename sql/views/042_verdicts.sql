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

COMMENT ON VIEW verdicts IS 'The verdict of each report: whether a pool was shared fairly in a period, by the thresholds in section [verdict] of config.toml. The verdict of the site is that of the pool with most waiting.';
COMMENT ON COLUMN verdicts.cluster IS 'name of the cluster';
COMMENT ON COLUMN verdicts.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN verdicts.period IS 'name of the period; all in a one-off audit';
COMMENT ON COLUMN verdicts.from_time IS 'begin of the period';
COMMENT ON COLUMN verdicts.to_time IS 'end of the period';
COMMENT ON COLUMN verdicts.base_from IS 'begin of the time by which the verdict is decided: that of the period, or 91 days before its end; NULL in reports of an earlier version';
COMMENT ON COLUMN verdicts.verdict IS 'word of the verdict: quiet, cannot tell, unfair, mixed or fair';
COMMENT ON COLUMN verdicts.sentence IS 'sentence of the verdict on page one of the report';
COMMENT ON COLUMN verdicts.because IS 'condition that decided the verdict: few_jobs, few_starts, few_arrivals, unknown_users, one_user, part, missing_days, refused, little_waiting, not_judged, treated_worse, not_tested or none';
COMMENT ON COLUMN verdicts.bounds IS 'bounds of [verdict] that were reached: not_judged, treated_worse, not_tested; the verdict of the next report depends on them';
COMMENT ON COLUMN verdicts.not_judged IS 'share of the waiting since base_from that cannot be judged; 0 to 1; NULL where nothing waited';
COMMENT ON COLUMN verdicts.treated_worse IS 'share of the waiting since base_from: passed time of users or accounts that later jobs overtook more often than others, without a known cause; 0 to 1';
COMMENT ON COLUMN verdicts.not_tested IS 'share of the waiting since base_from: passed time of users who could not be tested; 0 to 1';
COMMENT ON COLUMN verdicts.run_id IS 'run that computed the row; see runs';
