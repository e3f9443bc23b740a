-- The pools of a cluster, largest first, with their capacity at the end of a period.
-- parameters: cluster VARCHAR, period VARCHAR, schedule VARCHAR
SELECT pools.pool, resource, coalesce(value::BIGINT, capacity) AS capacity
FROM pools LEFT JOIN summary_result AS summary
    ON summary.cluster = pools.cluster AND summary.pool = pools.pool
    AND period = $period AND schedule = $schedule AND metric = 'capacity' AND dimension = 'all'
WHERE pools.cluster = $cluster
ORDER BY capacity DESC, pools.pool
