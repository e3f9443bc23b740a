-- The first statement about a cluster's jobs (epoch s), and the instant before which those about jobs were removed; NULL: none.
-- parameters: cluster VARCHAR
SELECT
    (SELECT min(instant) FROM evidence_record WHERE cluster = $cluster AND node IS NULL) AS first,
    (SELECT max(until) FROM evidence_removed WHERE cluster = $cluster) AS removed
