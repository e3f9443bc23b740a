-- How usage decays, as JSON, from the configuration of the run that computed a period.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT coalesce(config -> '$.cluster.usage', config -> '$.asked[3]')::VARCHAR AS settings
FROM run
WHERE cluster = $cluster AND period = $period AND stage = 'compute'
