-- The jobs of a user with their waits and fair start times, latest first.
-- $user VARCHAR: name of the user
-- $cluster VARCHAR = NULL: only this cluster
-- $top BIGINT = 100: maximum number of attempts
SELECT
    cluster,
    job_id,
    attempt,
    tasks,
    state,
    size,
    arrival_time,
    start_time,
    wait_s,
    fst_delivered,
    miss_delivered_s,
    miss_cautious_s,
    fst_rule,
    fst_delivered_status
FROM job_fairness
WHERE
    schedule = 'observed'
    AND "user" = $user
    AND ($cluster IS NULL OR cluster = $cluster)
ORDER BY arrival_time DESC, cluster, job_id, attempt
LIMIT $top
