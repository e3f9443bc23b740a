-- Every figure of a cluster's observed schedule.
-- parameters: cluster VARCHAR
SELECT pool, period, metric, dimension, dimension_value, value, run_id
FROM summary_result
WHERE cluster = $cluster AND schedule = 'observed'
