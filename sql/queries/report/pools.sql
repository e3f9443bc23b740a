-- The pools of a cluster, largest first.
-- parameters: cluster VARCHAR
SELECT pool, resource, capacity
FROM pools
WHERE cluster = $cluster
ORDER BY capacity DESC, pool
