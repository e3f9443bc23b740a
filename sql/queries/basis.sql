-- The inputs and the computed periods of a cluster.
-- parameters: cluster VARCHAR
SELECT 'input' AS kind, input_id AS name, NULL::BIGINT AS from_time, NULL::BIGINT AS to_time,
    concat_ws(' ', records, refused, duplicates, elsewhere, header) AS state
FROM inputs
WHERE cluster = $cluster
UNION ALL
SELECT 'set aside', path, NULL, NULL, concat_ws(' ', code, reason, found_at)
FROM set_aside
WHERE cluster = $cluster
UNION ALL
SELECT 'computed', period, from_time, to_time, run_id
FROM run
WHERE cluster = $cluster AND stage = 'compute'
ORDER BY ALL
