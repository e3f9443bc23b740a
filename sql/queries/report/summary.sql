-- The figures of one schedule and period that a report shows, in the order of their texts.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR
SELECT pool, metric, dimension, dimension_value, value, lower, upper, unit, attempts
FROM summary_result
WHERE cluster = $cluster AND schedule = $schedule AND period = $period
    AND dimension IN (
        'all', 'width_class', 'hour_of_week', 'day', 'entity_kind', 'resource', 'partition',
        'partition_qos_gpu_type', 'fst_status'
    )
    AND (dimension <> 'hour_of_week' OR metric = 'wait_mean')
ORDER BY pool, dimension, dimension_value NULLS FIRST, metric
