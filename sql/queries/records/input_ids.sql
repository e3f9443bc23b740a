-- The inputs that a period's figures depend on, as recorded by their run; see input_ids.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT regexp_replace(input, '-\d+\+\d+$', '') AS input_id
FROM run_input JOIN run USING (run_id, cluster, period)
WHERE cluster = $cluster AND period = $period AND stage = 'compute'
ORDER BY input_id
