-- Users with attempts that left the queue without starting, longest total wait first.
-- $period VARCHAR = NULL: only this period
-- $cluster VARCHAR = NULL: only this cluster
SELECT
    cluster,
    pool,
    period,
    "user",
    never_started,
    gave_up_wait_s,
    attempts
FROM user_fairness
WHERE
    schedule = 'observed'
    AND never_started > 0
    AND ($period IS NULL OR period = $period)
    AND ($cluster IS NULL OR cluster = $cluster)
ORDER BY gave_up_wait_s DESC, cluster, pool, period, "user"
