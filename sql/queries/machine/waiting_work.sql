-- The mean waiting work of each pool by day: the seconds for which the whole pool would have been
-- busy with the later use of the queued attempts. Covers attempts that ended; "edges" (ascending)
-- separate the days. Days on which nothing waited have no row.
-- parameters: cluster VARCHAR, schedule VARCHAR, edges BIGINT[]
-- archive: edges, edges
WITH days AS (
    SELECT
        unnest($edges[:-2])::BIGINT AS first, unnest($edges[2:])::BIGINT AS last,
        $edges[1]::BIGINT AS origin
),
-- A day is part of two or three spans of 86,400 s: attempts are joined by these, which is faster than
-- by the days themselves.
parts AS (
    SELECT first, last, unnest(range(first // 86400, (last - 1) // 86400 + 1)) AS stretch FROM days
),
queued AS (
    SELECT
        pool, greatest(arrival_time, $edges[1]) AS arrival_time, start_time,
        size::HUGEINT * occupancy_s AS work
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended'
        AND start_time > arrival_time AND size * occupancy_s > 0
        AND arrival_time < $edges[-1] AND start_time > $edges[1] AND end_time > $edges[1]
),
-- Work that begins to wait at an instant, or ceases to.
turns AS (
    SELECT pool, arrival_time AS since, work FROM queued
    UNION ALL
    SELECT pool, start_time, -work FROM queued
),
-- Until an instant t, Σ work · (t − since) has waited, so that days need only the sums of work and
-- of work · since. Whole numbers, whose sums do not depend on the order.
by_day AS (
    SELECT pool, first, sum(work) AS work, sum(work * (since - $edges[1])) AS moment
    FROM turns JOIN parts ON stretch = since // 86400 AND since >= first AND since < last
    GROUP BY pool, first
),
waited AS (
    SELECT
        pools.pool, first, last, capacity,
        sum(coalesce(work, 0)) OVER until_then * (last - origin)
            - sum(coalesce(moment, 0)) OVER until_then AS until_last
    FROM pools
    CROSS JOIN days
    LEFT JOIN by_day USING (pool, first)
    WHERE pools.cluster = $cluster
    WINDOW until_then AS (PARTITION BY pools.pool ORDER BY first)
),
of_day AS (
    SELECT
        pool, first, last - first AS seconds, capacity,
        until_last - lag(until_last, 1, 0) OVER (PARTITION BY pool ORDER BY first) AS work
    FROM waited
)
SELECT pool, first, work::DOUBLE / (seconds * capacity) AS waiting_s
FROM of_day
WHERE work > 0
ORDER BY pool, first
