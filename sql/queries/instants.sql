-- The last known instants of attempts in the tables by hour: the first and the last one (epoch s), and
-- their number.
-- parameters: cluster VARCHAR
SELECT min(instant) AS first, max(instant) AS last, sum(tasks)::BIGINT AS attempts
FROM (
    SELECT coalesce(tasks, 1) AS tasks, coalesce(end_time, start_time, eligible_time, submit_time) AS instant
    FROM records
    WHERE cluster = $cluster AND NOT superseded
)
WHERE instant IS NOT NULL
GROUP BY instant // 3600
ORDER BY first
