-- Rows that represent the pending tasks of a job array.
-- parameters: cluster VARCHAR
SELECT DISTINCT job_id, job_number, (start_time IS NULL AND end_time IS NULL) AS waits
FROM records
WHERE cluster = $cluster AND contains(job_id, '_[')
ORDER BY job_id, waits
