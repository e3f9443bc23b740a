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
        max(attempts) FILTER (metric = 'miss_strict_mean') AS fst_attempts,
        max(value) FILTER (metric = 'preferred_strict_share') AS preferred_strict_share,
        max(value) FILTER (metric = 'preference_strict_mean') AS preference_strict_mean
    FROM summary_result
    WHERE cluster = $cluster AND schedule = $schedule AND period = $period
        AND dimension IN ('user', 'account')
        AND metric IN ('miss_strict_mean', 'preferred_strict_share', 'preference_strict_mean')
    GROUP BY ALL
)
SELECT
    own.pool, entity_kind, entity, jobs, attempts, never_started, gave_up_wait_s,
    tuwt_s, tusa, nuwt, re_unfairness_positive, re_unfairness_net, share_deficit, stretch,
    passed_why,
    fst_attempts, miss_strict_s, miss_relaxed_s, missed_strict, missed_relaxed,
    preferred_strict_share, preference_strict_mean
FROM own
LEFT JOIN started
    ON started.pool = own.pool AND started.dimension = own.entity_kind
    AND started.dimension_value IS NOT DISTINCT FROM own.entity
ORDER BY own.pool, entity_kind, re_unfairness_net DESC NULLS LAST, entity NULLS LAST
