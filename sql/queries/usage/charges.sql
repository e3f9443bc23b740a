-- The amounts with which requests of a period were compared, and the assumptions about requests.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT pool, resource, available, inferred, charged, attempts, unknown, clipped, first_start
FROM charge_result
WHERE cluster = $cluster AND period = $period
ORDER BY pool, resource
