-- Every record of some jobs.
-- parameters: cluster VARCHAR, jobs VARCHAR[]
SELECT * FROM records
WHERE cluster = $cluster AND job_id IN (SELECT unnest($jobs::VARCHAR[]))
