-- Users whose attempts missed their fair start times by most, by strict misses.
-- $period VARCHAR = NULL: only this period
-- $cluster VARCHAR = NULL: only this cluster
-- $top BIGINT = 20: maximum number of users
SELECT
    cluster,
    pool,
    "user",
    sum(attempts) AS attempts,
    sum(missed_strict) AS missed_strict,
    sum(miss_strict_s) AS miss_strict_s,
    sum(miss_strict_s) / nullif(sum(attempts), 0) AS miss_strict_per_attempt_s,
    sum(missed_relaxed) AS missed_relaxed,
    sum(miss_relaxed_s) AS miss_relaxed_s,
    sum(tuwt_s) AS tuwt_s
FROM user_fairness
WHERE
    schedule = 'observed'
    AND ($period IS NULL OR period = $period)
    AND ($cluster IS NULL OR cluster = $cluster)
GROUP BY ALL
ORDER BY miss_strict_s DESC NULLS LAST, tuwt_s DESC, cluster, pool, "user"
LIMIT $top
