-- The run that computed the figures of a period.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT run_id, version, config_hash, input_hash
FROM run
WHERE cluster = $cluster AND period = $period
ORDER BY stage = 'compute' DESC, stage
LIMIT 1
