-- The busy share of a pool in a period.
-- parameters: cluster VARCHAR, period VARCHAR, pool VARCHAR
SELECT value FROM summary_result
WHERE cluster = $cluster AND period = $period AND pool = $pool AND schedule = 'observed'
    AND metric = 'utilization' AND dimension = 'all'
