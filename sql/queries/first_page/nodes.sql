-- The number of nodes of a pool, 0 if they are not known, and of those that a file or the configuration describes.
-- parameters: cluster VARCHAR, pool VARCHAR
SELECT count(*) AS nodes, count(*) FILTER (source <> 'inferred') AS declared
FROM node
WHERE cluster = $cluster AND pool = $pool
