-- Tasks with their own record, of the job arrays of some families.
-- parameters: cluster VARCHAR, family VARCHAR, families VARCHAR[]
SELECT DISTINCT regexp_replace(job_id, $family, '\1') AS family, array_task
FROM records
WHERE
    cluster = $cluster
    AND array_task IS NOT NULL
    AND regexp_replace(job_id, $family, '\1') IN (SELECT unnest($families))
ORDER BY ALL
