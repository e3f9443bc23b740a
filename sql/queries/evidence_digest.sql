-- The number of a cluster's statements before an instant (epoch s; NULL: all), and a mixture of them; with those that were removed, by whole days.
-- parameters: cluster VARCHAR, until BIGINT
WITH every AS (
    SELECT
        count(*) AS statements,
        bit_xor(md5_number(CAST((kind, instant, job_id, node, state, reason, priority, expected_start) AS VARCHAR))) AS mixed
    FROM evidence_record
    WHERE cluster = $cluster AND ($until IS NULL OR instant < $until)
    UNION ALL
    SELECT statements, mixed
    FROM evidence_removed
    WHERE cluster = $cluster AND ($until IS NULL OR until <= $until)
)
SELECT sum(statements) AS statements, CAST(bit_xor(mixed) AS VARCHAR) AS mixed FROM every
