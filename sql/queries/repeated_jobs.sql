-- The jobs in an input that have several records, or one that records only an event, by id, and the
-- number of records of each.
-- parameters: cluster VARCHAR, input_id VARCHAR
WITH numbers AS (  -- numbers are cheaper to group than texts; in most logs none repeats
    SELECT job_number FROM records
    WHERE cluster = $cluster AND job_number IN (
        SELECT job_number FROM records WHERE cluster = $cluster AND input_id = $input_id
    )
    GROUP BY job_number
    HAVING count(*) > 1 OR bool_or(kind IN ('left', 'paused', 'resumed'))
)
SELECT job_id, count(*) AS records
FROM records
WHERE cluster = $cluster AND (
    job_number IN (SELECT job_number FROM numbers)
    OR (job_number IS NULL AND job_id IN (  -- ids without a number, such as hashes
        SELECT job_id FROM records
        WHERE cluster = $cluster AND input_id = $input_id AND job_number IS NULL
    ))
)
GROUP BY job_id
HAVING
    (count(*) > 1 OR bool_or(kind IN ('left', 'paused', 'resumed')))
    AND bool_or(input_id = $input_id)
ORDER BY job_id
