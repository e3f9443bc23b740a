-- By how much a fair start time may be missed before that counts, in the run that computed a period.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT try_cast(config ->> '$.config.metrics.tolerance_s' AS BIGINT) AS tolerance_s
FROM run
WHERE cluster = $cluster AND period = $period AND stage = 'compute'
