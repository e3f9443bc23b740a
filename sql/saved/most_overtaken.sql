-- Attempts that most later attempts overtook, with their delays against their fair start times.
-- $user VARCHAR = NULL: only this user
-- $cluster VARCHAR = NULL: only this cluster
-- $top BIGINT = 20: maximum number of attempts
SELECT
    cluster,
    job_id,
    attempt,
    "user",
    account,
    size,
    arrival_time,
    wait_s,
    overtaken_by,
    overtook,
    miss_delivered_s,
    miss_cautious_s
FROM job_fairness
WHERE
    schedule = 'observed'
    AND overtaken_by > 0
    AND ($user IS NULL OR "user" = $user)
    AND ($cluster IS NULL OR cluster = $cluster)
ORDER BY overtaken_by DESC, wait_s DESC, cluster, job_id, attempt
LIMIT $top
