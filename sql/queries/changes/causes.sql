-- Total waits of the attempts that ended in each of several spans, by cause; "stretch" numbers the spans from 0.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_times BIGINT[], to_times BIGINT[]
-- archive: from_times, to_times
WITH stretches AS (
    SELECT
        unnest(range(len($from_times::BIGINT[]))) AS stretch,
        unnest($from_times::BIGINT[]) AS from_time,
        unnest($to_times::BIGINT[]) AS to_time
),
booked AS (
    SELECT pool, stretch, COLUMNS('^cause_.*_s$')
    FROM all_results JOIN stretches ON end_time >= from_time AND end_time < to_time
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended'
        AND wait_s IS NOT NULL AND cause_unexplained_s IS NOT NULL
)
-- Decimals, because the sum of floats depends on the order of rows.
SELECT pool, stretch, count(*) AS attempts, sum(COLUMNS('^cause_.*_s$')::DECIMAL(18, 3))::DOUBLE
FROM booked
GROUP BY pool, stretch
ORDER BY pool, stretch
