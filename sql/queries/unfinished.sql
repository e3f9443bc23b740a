-- The runs of a cluster whose fair start times have not all been computed yet.
-- parameters: cluster VARCHAR
SELECT DISTINCT run_id FROM job_result
WHERE cluster = $cluster AND schedule = 'observed' AND fst_status = 'not_sampled'
ORDER BY run_id
