-- How users and accounts waited beside their peers: all figures of those who waited longer, named or in
-- floods of their own only; of the others whether they are named, which tells how many were compared.
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
            OR regexp_full_match(metric, 'cause_[a-z_]+_share')
        )
)
SELECT
    pool, dimension, dimension_value, metric, value, lower, upper, unit, attempts
FROM beside
WHERE told OR metric = 'peer_named'
ORDER BY pool, dimension, dimension_value NULLS FIRST, metric
