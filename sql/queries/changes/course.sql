-- The contribution of each user to the main figures of spans, from the attempts that ended in them.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_times BIGINT[], to_times BIGINT[]
-- archive: from_times, to_times
WITH stretches AS (
    SELECT
        unnest(range(len($from_times::BIGINT[]))) AS stretch,
        unnest($from_times::BIGINT[]) AS from_time,
        unnest($to_times::BIGINT[]) AS to_time
),
-- Attempts are joined by days of UTC, which is faster than by the spans themselves.
days AS (
    SELECT *, unnest(range(from_time // 86400, (to_time - 1) // 86400 + 1)) AS day FROM stretches
),
judged AS (
    SELECT
        pool, "user", arrival_time, end_time, wait_s, cause_unexplained_s,
        miss_delivered_s
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended' AND wait_s IS NOT NULL
        AND end_time >= list_min($from_times::BIGINT[]) AND end_time < list_max($to_times::BIGINT[])
)
SELECT
    pool, stretch, "user",
    min(arrival_time) AS first_arrival,
    count(*) AS attempts,
    sum(wait_s)::BIGINT AS wait_s,
    coalesce(sum(wait_s) FILTER (cause_unexplained_s IS NOT NULL), 0)::BIGINT AS booked_s,
    coalesce(sum(cause_unexplained_s::DECIMAL(18, 3)), 0)::BIGINT AS unexplained_s,
    count(miss_delivered_s) AS judged,
    coalesce(sum(miss_delivered_s), 0)::BIGINT AS missed_s
FROM judged
JOIN days ON day = end_time // 86400 AND end_time >= from_time AND end_time < to_time
GROUP BY ALL
ORDER BY pool, stretch, "user" NULLS FIRST
