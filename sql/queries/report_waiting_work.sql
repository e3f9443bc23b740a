-- What of each pool's work waited, day by day, in the mean: for how many seconds the whole pool would
-- have been busy with what the queued attempts went on to use. Of attempts that ended; days as "edges"
-- (ascending) cut them. No row for a day on which nothing waited.
-- parameters: cluster VARCHAR, schedule VARCHAR, edges BIGINT[]
WITH spans AS (
    SELECT unnest($edges[:-2])::BIGINT AS first, unnest($edges[2:])::BIGINT AS last
),
queued AS (
    SELECT pool, arrival_time, start_time, size::HUGEINT * occupancy_s AS work
    FROM job_result
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended'
        AND start_time > arrival_time AND size * occupancy_s > 0
        AND arrival_time < $edges[-1] AND start_time > $edges[1]
)
SELECT
    queued.pool, first,
    -- Whole numbers, so that sums depend on no order.
    sum(work * (least(start_time, last) - greatest(arrival_time, first)))::DOUBLE
        / (any_value(last - first) * any_value(capacity)) AS waiting_s
FROM queued
JOIN spans ON arrival_time < last AND start_time > first
JOIN pools ON pools.cluster = $cluster AND pools.pool = queued.pool
GROUP BY queued.pool, first
ORDER BY queued.pool, first
