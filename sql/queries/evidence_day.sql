-- The statements about a cluster's jobs in a day (epoch s, half-open): their number, and a mixture as of evidence_digest.sql.
-- parameters: cluster VARCHAR, since BIGINT, until BIGINT
SELECT
    count(*) AS statements,
    bit_xor(md5_number(CAST((kind, instant, job_id, node, state, reason, priority, expected_start) AS VARCHAR))) AS mixed
FROM evidence_record
WHERE cluster = $cluster AND node IS NULL AND instant >= $since AND instant < $until
