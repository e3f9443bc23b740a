-- Users with preempted, requeued or suspended attempts, most lost work first.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR
SELECT pool, entity AS name, preempted, lost_work, suspended_s
FROM entity_result
WHERE cluster = $cluster AND schedule = $schedule AND period = $period AND entity_kind = 'user'
    AND (preempted > 0 OR suspended_s > 0)
ORDER BY pool, lost_work DESC, suspended_s DESC, name NULLS LAST
