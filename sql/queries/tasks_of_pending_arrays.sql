-- Tasks with their own record, of job arrays of which some tasks share a row.
-- parameters: cluster VARCHAR
SELECT DISTINCT job_number, array_task
FROM records
WHERE
    cluster = $cluster
    AND array_task IS NOT NULL
    AND job_number IN (
        SELECT job_number FROM records WHERE cluster = $cluster AND contains(job_id, '_[')
    )
ORDER BY job_number, array_task
