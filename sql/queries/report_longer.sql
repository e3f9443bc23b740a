-- The entities that were passed over in a period, by pool and kind, if any was tested; without those
-- for which an order by usage explains it.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR
WITH explained AS (
    SELECT pool, dimension, dimension_value
    FROM summary_result
    WHERE cluster = $cluster AND schedule = $schedule AND period = $period
        AND metric = 'passed_half_life' AND value IS NOT NULL
)
SELECT
    pool, dimension AS kind,
    list(dimension_value ORDER BY dimension_value) FILTER (
        value > 0 AND (pool, dimension, dimension_value) NOT IN (FROM explained)
    ) AS names
FROM summary_result
WHERE cluster = $cluster AND schedule = $schedule AND period = $period
    AND metric = 'passed_named' AND value IS NOT NULL
GROUP BY pool, dimension
ORDER BY pool, dimension
