-- The computed periods of a cluster, each with its run.
-- parameters: cluster VARCHAR
SELECT period, from_time, to_time, run_id FROM run
WHERE cluster = $cluster AND stage = 'compute'
ORDER BY from_time, period
