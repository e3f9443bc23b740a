-- The attempts of a period with the most work lost to preemption, and the users of the jobs that
-- started on their nodes.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN, most BIGINT
-- archive: from_time, to_time
WITH lost AS (
    SELECT pool, job_id, attempt, "user", partition, size, end_time, lost_work, freed_for
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended' AND lost_work > 0
        AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
    QUALIFY row_number() OVER (
        PARTITION BY pool ORDER BY lost_work DESC, end_time, job_id, attempt
    ) <= $most
),
started AS (
    SELECT DISTINCT lost.pool, lost.job_id, lost.attempt, other."user"
    FROM (SELECT *, unnest(string_split(freed_for, ', ')) AS by_job FROM lost) AS lost
    JOIN all_results AS other
        ON other.cluster = $cluster AND other.schedule = $schedule AND other.pool = lost.pool
        AND other.job_id = lost.by_job
),
users AS (
    SELECT pool, job_id, attempt, string_agg("user", ', ' ORDER BY "user") AS freed_users
    FROM started
    GROUP BY ALL
)
SELECT lost.*, freed_users
FROM lost
LEFT JOIN users USING (pool, job_id, attempt)
ORDER BY pool, lost_work DESC, end_time, job_id, attempt
