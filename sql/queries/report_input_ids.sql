-- The inputs that a period's figures rest on, as the run that computed them noted; see input_ids.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT regexp_replace(input, '-\d+\+\d+$', '') AS input_id
FROM run_input JOIN run USING (run_id, cluster, period)
WHERE cluster = $cluster AND period = $period AND stage = 'compute'
ORDER BY input_id
