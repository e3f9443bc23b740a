-- The number of records of each of some jobs, by id.
-- parameters: cluster VARCHAR, jobs VARCHAR[]
SELECT job_id, count(*) AS records
FROM records
WHERE cluster = $cluster AND job_id IN (SELECT unnest($jobs::VARCHAR[]))
GROUP BY job_id
ORDER BY job_id
