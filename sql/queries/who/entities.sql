-- Users and accounts of one schedule and period, largest shortfall first.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR
WITH own AS (
    SELECT *
    FROM entity_result
    WHERE cluster = $cluster AND schedule = $schedule AND period = $period
),
started AS (
    SELECT
        pool, dimension, dimension_value,
        max(attempts) FILTER (metric = 'miss_delivered_mean') AS fst_attempts,
        max(value) FILTER (metric = 'preference_delivered_mean') AS preference_delivered_mean
    FROM summary_result
    WHERE cluster = $cluster AND schedule = $schedule AND period = $period
        AND dimension IN ('user', 'account')
        AND metric IN ('miss_delivered_mean', 'preference_delivered_mean')
    GROUP BY ALL
)
SELECT
    own.pool, entity_kind, entity, jobs, attempts, never_started, gave_up_wait_s,
    tuwt_s, tusa, nuwt, re_unfairness_positive, re_unfairness_net, share_deficit, stretch,
    passed_why,
    fst_attempts, miss_delivered_s, miss_cautious_s, missed_delivered, preference_delivered_mean,
    miss_strict_s, miss_relaxed_s
FROM own
LEFT JOIN started
    ON started.pool = own.pool AND started.dimension = own.entity_kind
    AND started.dimension_value IS NOT DISTINCT FROM own.entity
ORDER BY own.pool, entity_kind, re_unfairness_net DESC NULLS LAST, entity NULLS LAST
