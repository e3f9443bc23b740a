-- The verdict of each report with its main figures: the newest period first, and within a period
-- the pool with the highest consumption.
WITH figures AS (
    SELECT
        cluster, pool, period,
        max(value) FILTER (metric = 'consumed') AS consumed,
        max(value) FILTER (metric = 'attempts') AS attempts,
        max(value) FILTER (metric = 'wait_mean') AS wait_mean,
        max(value) FILTER (metric = 'miss_delivered_mean') AS delay,
        max(value) FILTER (metric = 'cause_unexplained_share') AS unexplained
    FROM summary_result
    WHERE schedule = 'observed' AND dimension = 'all'
    GROUP BY ALL
)
SELECT
    cluster, pool, period, from_time, to_time, verdict, sentence,
    attempts::BIGINT AS attempts, wait_mean, delay, unexplained
FROM verdict_result
LEFT JOIN figures USING (cluster, pool, period)
ORDER BY cluster, to_time DESC, from_time, period, consumed DESC NULLS LAST, pool
