-- The coverage row of a cluster's refused lines, whose day is not known; none where there are none.
-- parameters: cluster VARCHAR
SELECT cluster, NULL::DATE AS day, count(*) AS records, count(*) AS refused, 'partial' AS state
FROM refused
WHERE cluster = $cluster
GROUP BY cluster
