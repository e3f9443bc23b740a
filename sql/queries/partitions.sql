-- The partitions in the attempts of a cluster.
-- parameters: cluster VARCHAR
SELECT DISTINCT partition FROM all_records WHERE cluster = $cluster AND NOT superseded ORDER BY ALL
