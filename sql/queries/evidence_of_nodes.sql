-- Statements of schedulers about a cluster's nodes, by instant.
-- parameters: cluster VARCHAR
SELECT kind, instant, job_id, node, state, reason, priority, expected_start
FROM evidence_record
WHERE cluster = $cluster AND node IS NOT NULL
ORDER BY ALL
