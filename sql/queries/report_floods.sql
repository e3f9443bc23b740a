-- Days on which a user brought many attempts at once, the most work first: at least so many attempts
-- that bring at least such a part of what the whole pool does in a day. Of attempts that ended; days as
-- "edges" (ascending) cut them.
-- parameters: cluster VARCHAR, schedule VARCHAR, edges BIGINT[], least_attempts BIGINT, least_part DOUBLE
WITH spans AS (
    SELECT unnest($edges[:-2])::BIGINT AS first, unnest($edges[2:])::BIGINT AS last
)
SELECT
    pool, first, "user", count(*) AS attempts,
    sum(size::HUGEINT * occupancy_s)::DOUBLE / any_value(capacity) AS work_s
FROM all_results
JOIN pools USING (cluster, pool)
ASOF JOIN spans ON arrival_time >= first
WHERE arrival_time < last AND cluster = $cluster AND schedule = $schedule AND standing = 'ended' AND "user" IS NOT NULL
GROUP BY pool, first, "user"
HAVING count(*) >= $least_attempts AND work_s >= $least_part * any_value(last - first)
ORDER BY pool, work_s DESC, first, "user"
