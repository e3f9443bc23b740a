-- Attempts that waited longer than 95 % of similar jobs: first those that still wait, then those
-- that left the queue without starting.
-- $user VARCHAR = NULL: only this user
-- $cluster VARCHAR = NULL: only this cluster
-- $only VARCHAR = NULL: waiting, only those that still wait; gave_up, only the others
SELECT
    cluster,
    pool,
    job_id,
    attempt,
    tasks,
    "user",
    account,
    partition,
    size,
    arrival_time,
    left_time,
    waited_s,
    similar_p95_s,
    round(unexplained_share, 3) AS unexplained_share,
    cause,
    rule,
    held_by,
    reason
FROM stuck
WHERE
    ($user IS NULL OR "user" = $user)
    AND ($cluster IS NULL OR cluster = $cluster)
    AND ($only IS NULL OR $only = if(left_time IS NULL, 'waiting', 'gave_up'))
ORDER BY
    left_time IS NULL DESC, waited_s - similar_p95_s DESC, cluster, pool, job_id, attempt
