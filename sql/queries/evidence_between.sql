-- Statements of schedulers about a cluster's jobs and nodes in a time (epoch s, both included; NULL: no bound).
-- parameters: cluster VARCHAR, since BIGINT, until BIGINT
SELECT kind, instant, job_id, node, state, reason, priority, expected_start
FROM evidence_record
WHERE cluster = $cluster
    AND ($since IS NULL OR instant >= $since) AND ($until IS NULL OR instant <= $until)
ORDER BY ALL
