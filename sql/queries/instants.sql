-- The instants by which attempts in the tables belong to periods, by hour: the first and the last one
-- (epoch s), and their number.
-- parameters: cluster VARCHAR
SELECT min(instant) AS first, max(instant) AS last, sum(tasks)::BIGINT AS attempts
FROM (
    SELECT
        coalesce(tasks, 1) AS tasks,
        coalesce(end_time, least(submit_time, eligible_time, start_time)) AS instant
    FROM records
    WHERE cluster = $cluster AND NOT superseded
)
WHERE instant IS NOT NULL
GROUP BY instant // 3600
ORDER BY first
