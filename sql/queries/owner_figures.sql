-- All figures of one user or account, by pool.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR, kind VARCHAR, name VARCHAR
SELECT pool, metric, value, lower, upper, unit, attempts
FROM summary_result
WHERE cluster = $cluster AND schedule = $schedule AND period = $period
    AND dimension = $kind AND dimension_value = $name
ORDER BY pool, metric
