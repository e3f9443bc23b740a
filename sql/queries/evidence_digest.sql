-- The number of a cluster's statements before an instant (epoch s; NULL: all), and a mixture of them.
-- parameters: cluster VARCHAR, until BIGINT
SELECT
    count(*) AS statements,
    CAST(bit_xor(md5_number(CAST((kind, instant, job_id, node, state, reason, priority, expected_start) AS VARCHAR))) AS VARCHAR) AS mixed
FROM evidence_record
WHERE cluster = $cluster AND ($until IS NULL OR instant < $until)
