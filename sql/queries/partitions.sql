-- The partitions that the attempts of a cluster name.
-- parameters: cluster VARCHAR
SELECT DISTINCT partition FROM all_records WHERE cluster = $cluster AND NOT superseded ORDER BY ALL
