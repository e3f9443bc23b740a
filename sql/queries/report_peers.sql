-- Waits of users and accounts beside their peers: all figures of those that waited longer, named or
-- only in bursts; of the others whether they are named, which gives the number of comparisons.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR
WITH beside AS (
    SELECT
        *,
        bool_or(metric IN ('peer_named', 'peer_flood') AND value > 0) OVER (
            PARTITION BY pool, dimension, dimension_value
        ) AS told
    FROM summary_result
    WHERE cluster = $cluster AND schedule = $schedule AND period = $period
        AND dimension IN ('user', 'account')
        AND (
            metric IN ('peer_ratio', 'peer_ratio_alone', 'excess_wait', 'peer_named', 'peer_flood')
            OR regexp_full_match(metric, 'wait_(room|shared|own|earlier|later|down)_share')
        )
)
SELECT
    pool, dimension, dimension_value, metric, value, lower, upper, unit, attempts
FROM beside
WHERE told OR metric = 'peer_named'
ORDER BY pool, dimension, dimension_value NULLS FIRST, metric
