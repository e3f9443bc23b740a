-- Figures of other tools for each pool and span. Of the attempts that ended in it: their mean wait
-- from submission, and the number of a job's attempts beyond its last. Of those that started in it:
-- the mean wait from submission. Also the occupied resources within it, with and without suspended
-- time.
-- parameters: cluster VARCHAR, schedule VARCHAR, whole BOOLEAN, from_time BIGINT, to_time BIGINT
-- archive: from_time, to_time
WITH of_jobs AS (
    SELECT pool, job_id, attempt
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended'
        AND start_time IS NOT NULL
        AND ($whole OR end_time >= $from_time AND end_time < $to_time)
),
again AS (
    -- Jobs with a single attempt count nothing, and most are such: of two attempts that ended in the
    -- span, one is not the job's first.
    SELECT pool, count(*) - count(DISTINCT job_id) AS repeated
    FROM of_jobs
    WHERE job_id IN (SELECT job_id FROM of_jobs WHERE attempt > 1)
    GROUP BY pool
),
known AS (
    SELECT
        pool, start_time - submit_time AS wait_s,
        standing = 'ended' AND ($whole OR end_time >= $from_time AND end_time < $to_time) AS of_span,
        $whole OR start_time >= $from_time AND start_time < $to_time AS began,
        size::HUGEINT AS size,
        CASE WHEN $whole THEN start_time ELSE greatest(start_time, $from_time) END AS first,
        CASE WHEN $whole THEN end_time ELSE least(coalesce(end_time, $to_time), $to_time) END AS last,
        coalesce(runtime_s, occupancy_s) AS runtime_s, nullif(occupancy_s, 0) AS occupancy_s
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND start_time IS NOT NULL
        AND ($whole OR start_time < $to_time AND (end_time IS NULL OR end_time >= $from_time))
),
summed AS (
    SELECT
        pool,
        avg(wait_s) FILTER (of_span) AS wait_from_submission_s,
        avg(greatest(wait_s, 0)) FILTER (began) AS wait_of_started_s,
        (sum(size * (last - first)) FILTER (last > first))::DOUBLE AS held,
        -- Suspended time is spread evenly over the attempt: the log does not say when it was. In
        -- whole seconds, so that the sum depends on no order.
        (sum(size * CASE
            WHEN runtime_s = occupancy_s THEN last - first
            ELSE (last - first)::HUGEINT * runtime_s // occupancy_s
        END) FILTER (last > first))::DOUBLE AS held_running
    FROM known
    GROUP BY pool
)
SELECT
    pool, wait_from_submission_s, wait_of_started_s, coalesce(repeated, 0)::BIGINT AS repeated,
    held, held_running
FROM summed LEFT JOIN again USING (pool)
ORDER BY pool
