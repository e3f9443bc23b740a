-- When the scheduler planned to start pending jobs, as it said in the last days before its newest statement.
-- parameters: cluster VARCHAR, days BIGINT
SELECT job_id, instant, expected_start
FROM evidence_record
WHERE cluster = $cluster AND state = 'PENDING' AND expected_start IS NOT NULL
    AND instant >= (SELECT max(instant) FROM evidence_record WHERE cluster = $cluster) - $days * 86400
ORDER BY ALL
