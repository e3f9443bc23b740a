-- Inferences of a run, as JSON; NULL if it inferred nothing.
-- parameters: cluster VARCHAR, run_id VARCHAR
SELECT (config -> '$.assumed')::VARCHAR AS inferred
FROM run
WHERE cluster = $cluster AND run_id = $run_id AND stage = 'compute'
