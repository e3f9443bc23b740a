-- The outages of a period, longest first.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT pool, from_time, to_time
FROM outage_result
WHERE cluster = $cluster AND period = $period
ORDER BY pool, to_time - from_time DESC, from_time
