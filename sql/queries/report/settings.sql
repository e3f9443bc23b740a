-- Settings in force when a period was computed, from the configuration of its run: sections metrics
-- and usage as JSON, the number of bootstrap resamples, and what was fitted from the log.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT
    (config -> '$.config.metrics')::VARCHAR AS metrics,
    try_cast(config ->> '$.config.uncertainty.resamples' AS BIGINT) AS resamples,
    coalesce(config -> '$.cluster.usage', config -> '$.asked.usage')::VARCHAR AS usage,
    (config -> '$.assumed')::VARCHAR AS assumed
FROM run
WHERE cluster = $cluster AND period = $period AND stage = 'compute'
