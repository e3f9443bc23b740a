-- Every attempt of a computed period, or of a log as a whole, has its row in the observed schedule.
SELECT cluster, job_id, attempt
FROM records
WHERE NOT superseded AND EXISTS (
    SELECT 1 FROM run
    WHERE run.cluster = records.cluster AND stage = 'compute'
        AND (period = 'all' OR records.end_time >= run.from_time AND records.end_time < run.to_time)
)
EXCEPT
SELECT cluster, job_id, attempt FROM job_result WHERE schedule = 'observed'
