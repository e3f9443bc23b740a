-- Days on which a user submitted many attempts at once, the most work first: at least
-- "least_attempts" that bring at least "least_part" of the pool's daily work. Covers attempts that
-- ended; "edges" (ascending) separate the days.
-- parameters: cluster VARCHAR, schedule VARCHAR, edges BIGINT[], least_attempts BIGINT, least_part DOUBLE
-- archive: edges, edges
WITH days AS (
    SELECT unnest($edges[:-2])::BIGINT AS first, unnest($edges[2:])::BIGINT AS last
),
-- as in report_waiting_work
parts AS (
    SELECT first, last, unnest(range(first // 86400, (last - 1) // 86400 + 1)) AS stretch FROM days
),
many AS (
    SELECT
        pool, first, "user", any_value(last - first) AS seconds, count(*) AS attempts,
        sum(size::HUGEINT * occupancy_s)::DOUBLE AS work
    FROM all_results
    JOIN parts ON stretch = arrival_time // 86400 AND arrival_time >= first AND arrival_time < last
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended' AND "user" IS NOT NULL
        AND arrival_time >= $edges[1] AND arrival_time < $edges[-1] AND end_time >= $edges[1]
    GROUP BY pool, first, "user"
    HAVING count(*) >= $least_attempts
)
SELECT many.pool, first, "user", attempts, work / capacity AS work_s
FROM many JOIN pools ON pools.cluster = $cluster AND pools.pool = many.pool
WHERE work_s >= $least_part * seconds
ORDER BY many.pool, work_s DESC, first, "user"
