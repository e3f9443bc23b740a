-- The figures of a period that exceed a limit.
-- parameters: cluster VARCHAR, period VARCHAR, metric VARCHAR, dimension VARCHAR, above DOUBLE
SELECT pool, dimension_value, value, unit FROM summary_result
WHERE cluster = $cluster AND period = $period AND metric = $metric AND dimension = $dimension
    AND value > $above
ORDER BY pool, dimension_value
