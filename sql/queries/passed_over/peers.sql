-- How users, accounts, partitions and QOS were passed over, with the causes of the waits of those
-- named; of the others only whether they could be tested, and what keeps them from being named.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR
WITH beside AS (
    SELECT
        *,
        bool_or(metric = 'passed_named' AND value > 0) OVER (
            PARTITION BY pool, dimension, dimension_value
        ) AS named
    FROM summary_result
    WHERE cluster = $cluster AND schedule = $schedule AND period = $period
        AND dimension IN ('user', 'account', 'partition', 'qos')
        AND (
            starts_with(metric, 'passed_') OR starts_with(metric, 'cause_')
            OR metric IN ('usage_multiple', 'attempts', 'wait_mean')
        )
)
SELECT
    pool, dimension, dimension_value, metric, value, lower, upper, unit, attempts
FROM beside
WHERE named OR metric IN ('passed_named', 'passed_ahead', 'usage_multiple')
ORDER BY pool, dimension, dimension_value NULLS FIRST, metric
