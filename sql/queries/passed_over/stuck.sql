-- The attempts of a period that wait longer than 95 % of similar jobs did, or gave up after that, by
-- pool: the number of either kind, and those that exceed similar jobs most.
-- parameters: cluster VARCHAR, period VARCHAR, from_time BIGINT, to_time BIGINT, most BIGINT
-- archive: from_time, to_time
WITH held AS (
    SELECT
        stuck.*, coalesce(tasks, 1) AS tasks, "user", size, reason, end_time IS NULL AS waiting,
        rule, held_by, cause_unexplained_s / nullif(waited_s, 0) AS unexplained_share
    FROM stuck_result AS stuck
    JOIN all_results AS job USING (cluster, pool, job_id, attempt)
    WHERE cluster = $cluster AND schedule = 'observed' AND run_id IN (
        SELECT run_id FROM run WHERE cluster = $cluster AND period = $period AND stage = 'compute'
    )
)
SELECT
    pool, job_id, tasks, "user", size, waiting, waited_s, similar_p95_s, unexplained_share, cause, rule, held_by, reason,
    coalesce(sum(tasks) FILTER (waiting) OVER (PARTITION BY pool), 0)::BIGINT AS all_waiting,
    coalesce(sum(tasks) FILTER (NOT waiting) OVER (PARTITION BY pool), 0)::BIGINT AS all_gave_up
FROM held
QUALIFY row_number() OVER (
    PARTITION BY pool ORDER BY waiting DESC, waited_s - similar_p95_s DESC, job_id, attempt
) <= $most
ORDER BY pool, waiting DESC, waited_s - similar_p95_s DESC, job_id, attempt
