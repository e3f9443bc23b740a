-- Every attempt that the log holds has its row in the observed schedule.
SELECT cluster, job_id, attempt
FROM records
WHERE NOT superseded AND cluster IN (SELECT cluster FROM run WHERE stage = 'compute')
EXCEPT
SELECT cluster, job_id, attempt FROM job_result WHERE schedule = 'observed'
