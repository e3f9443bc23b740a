-- The number of figures of a period that have changed since a run computed them.
-- parameters: cluster VARCHAR, period VARCHAR, run_id VARCHAR
SELECT count(*) AS restated
FROM restatement
WHERE cluster = $cluster AND period = $period AND old_run_id = $run_id
