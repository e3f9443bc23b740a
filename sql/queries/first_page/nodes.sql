-- The number of nodes of a pool, 0 if they are not known, of those that a file or the configuration describes, and its
-- capacity while it has all of them.
-- parameters: cluster VARCHAR, pool VARCHAR
SELECT
    count(*) AS nodes, count(*) FILTER (source <> 'inferred') AS declared,
    coalesce((SELECT capacity FROM pools WHERE cluster = $cluster AND pool = $pool), 0) AS whole
FROM node
WHERE cluster = $cluster AND pool = $pool
