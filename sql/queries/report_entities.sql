-- Users and accounts of one schedule and period; who went short most comes first.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR
SELECT
    pool, entity_kind, entity, jobs, attempts, never_started, gave_up_wait_s,
    tuwt_s, tusa, nuwt, re_unfairness_positive, re_unfairness_net
FROM entity_result
WHERE cluster = $cluster AND schedule = $schedule AND period = $period
ORDER BY pool, entity_kind, re_unfairness_net DESC NULLS LAST, entity NULLS LAST
