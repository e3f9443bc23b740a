-- The zone of a cluster, and what was inferred about it.
-- parameters: cluster VARCHAR
SELECT zone, notes::VARCHAR AS notes
FROM clusters
WHERE cluster = $cluster
