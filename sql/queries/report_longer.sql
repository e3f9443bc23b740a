-- The users and accounts that waited longer than peers and may be named in a period, for each pool
-- and kind with a comparison.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR
SELECT
    pool, dimension AS kind,
    list(dimension_value ORDER BY dimension_value) FILTER (value > 0) AS names
FROM summary_result
WHERE cluster = $cluster AND schedule = $schedule AND period = $period
    AND dimension IN ('user', 'account') AND metric = 'peer_named' AND value IS NOT NULL
GROUP BY pool, dimension
ORDER BY pool, dimension
