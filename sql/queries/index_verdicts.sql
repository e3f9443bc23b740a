-- The verdict of each report with its main figures: the newest period first, and within a period
-- the pool with most waiting.
WITH figures AS (
    SELECT
        cluster, pool, period,
        max(value) FILTER (metric = 'attempts') AS attempts,
        max(value) FILTER (metric = 'wait_median') AS wait_median,
        max(value) FILTER (metric = 'utilization') AS busy
    FROM summary_result
    WHERE schedule = 'observed' AND dimension = 'all'
    GROUP BY ALL
)
SELECT
    cluster, pool, period, from_time, to_time, verdict, sentence, cause AS because,
    attempts::BIGINT AS attempts, wait_median, over_hour, busy, not_known
FROM verdict_result
LEFT JOIN figures USING (cluster, pool, period)
ORDER BY cluster, to_time DESC, from_time, period, waited_s DESC NULLS LAST, pool
