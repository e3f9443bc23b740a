-- The coverage row of a cluster's refused records, whose day is unknown; no row without any.
-- parameters: cluster VARCHAR
SELECT $cluster AS cluster, NULL::DATE AS day, n AS records, n AS refused, 'partial' AS state
FROM (
    SELECT
        (SELECT count(*) FROM refused WHERE cluster = $cluster AND replayed_at IS NULL)
        + (SELECT count(*) FROM doubtful WHERE cluster = $cluster) AS n
)
WHERE n > 0
