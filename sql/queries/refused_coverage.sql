-- The coverage row of a cluster's refused records, whose day is unknown; no row without any.
-- parameters: cluster VARCHAR
SELECT $cluster AS cluster, NULL::DATE AS day, n AS records, n AS refused, 'partial' AS state
FROM (SELECT sum(refused)::BIGINT AS n FROM inputs WHERE cluster = $cluster)
WHERE n > 0
