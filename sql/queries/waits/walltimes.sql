-- Use of walltimes by the attempts of each pool that ended in a period: the number that used each
-- tenth (0 to 9) or more than all of it (10), and the median fraction.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN
-- archive: from_time, to_time
WITH ended AS (
    SELECT pool, coalesce(runtime_s, occupancy_s) AS used, walltime_s
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended'
        AND walltime_s > 0 AND coalesce(runtime_s, occupancy_s) IS NOT NULL
        AND ($whole OR end_time >= $from_time AND end_time < $to_time)
),
counted AS (
    SELECT
        pool,
        -- An attempt that ends exactly at a tenth belongs to the tenth below it.
        CASE WHEN used > walltime_s THEN 10 ELSE greatest((10 * used - 1) // walltime_s, 0) END
            AS tenth,
        used::DOUBLE / walltime_s AS part
    FROM ended
)
SELECT pool, tenth, attempts, median
FROM (SELECT pool, tenth, count(*) AS attempts FROM counted GROUP BY pool, tenth)
JOIN (SELECT pool, quantile_disc(part, 0.5) AS median FROM counted GROUP BY pool) USING (pool)
ORDER BY pool, tenth
