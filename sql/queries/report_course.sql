-- The contribution of each user to the main figures of spans, from the attempts that ended in them.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_times BIGINT[], to_times BIGINT[], counted VARCHAR[]
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
        pool, "user", arrival_time, end_time, wait_s, cause_unexplained_s, overtaken_s,
        CASE
            WHEN overtaken_s IS NOT NULL AND miss_strict_s IS NOT NULL
                AND list_contains($counted::VARCHAR[], fst_status)
            THEN coalesce(fst_weight, 1)
        END AS weight
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
    coalesce(sum(cause_unexplained_s), 0)::BIGINT AS unexplained_s,
    coalesce(sum(weight), 0)::BIGINT AS judged,
    coalesce(sum(weight * overtaken_s), 0)::BIGINT AS overtaken_s
FROM judged
JOIN days ON day = end_time // 86400 AND end_time >= from_time AND end_time < to_time
GROUP BY ALL
ORDER BY pool, stretch, "user" NULLS FIRST
