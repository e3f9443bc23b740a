-- The logs that were missing when a period was computed, as JSON: name and reason of each.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT (config -> '$.missing')::VARCHAR AS missing
FROM run
WHERE cluster = $cluster AND period = $period AND stage = 'compute'
