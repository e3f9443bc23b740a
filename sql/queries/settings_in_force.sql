-- The configuration with which the figures of a cluster were last computed, as JSON.
-- parameters: cluster VARCHAR
SELECT config::VARCHAR AS settings
FROM run
WHERE cluster = $cluster AND stage = 'compute'
ORDER BY to_time DESC NULLS LAST, period
LIMIT 1
