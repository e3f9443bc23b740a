-- The entities that were passed over in a period, by pool and kind, if any was tested.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR
SELECT
    pool, dimension AS kind,
    list(dimension_value ORDER BY dimension_value) FILTER (value > 0) AS names
FROM summary_result
WHERE cluster = $cluster AND schedule = $schedule AND period = $period
    AND metric = 'passed_named' AND value IS NOT NULL
GROUP BY pool, dimension
ORDER BY pool, dimension
