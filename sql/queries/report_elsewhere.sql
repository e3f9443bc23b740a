-- What other tools would say of each pool and span: of the attempts that ended in it, their mean wait
-- from submission, and how many attempts of a job there are beyond its last; the mean wait from
-- submission of those that started in it; what was held inside it, with and without suspended time.
-- parameters: cluster VARCHAR, schedule VARCHAR, whole BOOLEAN, from_time BIGINT, to_time BIGINT
WITH again AS (
    -- Few jobs have several attempts: of all others there is nothing to count.
    SELECT DISTINCT job_id
    FROM job_result
    WHERE cluster = $cluster AND schedule = $schedule AND attempt > 1
),
known AS (
    SELECT
        pool, CASE WHEN job_id IN (FROM again) THEN job_id END AS repeated_id,
        start_time - submit_time AS wait_s,
        standing = 'ended' AND ($whole OR end_time >= $from_time AND end_time < $to_time) AS of_span,
        $whole OR start_time >= $from_time AND start_time < $to_time AS began,
        size::HUGEINT AS size, start_time, end_time,
        CASE WHEN $whole THEN start_time ELSE greatest(start_time, $from_time) END AS first,
        CASE WHEN $whole THEN end_time ELSE least(coalesce(end_time, $to_time), $to_time) END AS last,
        coalesce(runtime_s, occupancy_s) AS runtime_s, occupancy_s
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND start_time IS NOT NULL
        AND ($whole OR start_time < $to_time AND (end_time IS NULL OR end_time >= $from_time))
)
SELECT
    pool,
    avg(wait_s) FILTER (of_span) AS wait_from_submission_s,
    avg(greatest(wait_s, 0)) FILTER (began) AS wait_of_started_s,
    (count(repeated_id) FILTER (of_span) - count(DISTINCT repeated_id) FILTER (of_span))::BIGINT
        AS repeated,
    (sum(size * (last - first)) FILTER (last > first))::DOUBLE AS held,
    -- Suspended time is spread evenly over the attempt: the log does not say when it was. In whole
    -- seconds, so that the sum depends on no order.
    (sum(size * ((last - first)::HUGEINT * runtime_s // nullif(occupancy_s, 0)))
        FILTER (last > first))::DOUBLE AS held_running
FROM known
GROUP BY pool
ORDER BY pool
