-- The attempts of a cluster, as the log recorded them, in the order of the log.
-- parameters: cluster VARCHAR
SELECT * EXCLUDE (superseded, input_id)
FROM records
WHERE cluster = $cluster AND NOT superseded
ORDER BY job_number, array_task, het_offset, attempt, line, job_id
