-- Users whom later arrivals delayed most, with the delays of their attempts against fair start times
-- on delivered capacity.
-- $period VARCHAR = NULL: only this period
-- $cluster VARCHAR = NULL: only this cluster
-- $top BIGINT = 20: maximum number of users
SELECT
    cluster,
    pool,
    "user",
    sum(attempts) AS attempts,
    sum(missed_delivered) AS missed_delivered,
    sum(miss_delivered_s) AS miss_delivered_s,
    sum(miss_cautious_s) AS miss_cautious_s,
    sum(miss_delivered_s) / nullif(sum(attempts), 0) AS miss_delivered_per_attempt_s,
    sum(tuwt_s) AS tuwt_s
FROM user_fairness
WHERE
    schedule = 'observed'
    AND ($period IS NULL OR period = $period)
    AND ($cluster IS NULL OR cluster = $cluster)
GROUP BY ALL
ORDER BY miss_delivered_s DESC NULLS LAST, tuwt_s DESC, cluster, pool, "user"
LIMIT $top
