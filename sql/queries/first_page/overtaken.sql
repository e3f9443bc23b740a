-- The users and accounts with pairs in the base of a period's verdict.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT * EXCLUDE (cluster, period, run_id)
FROM overtaken_result
WHERE cluster = $cluster AND period = $period
ORDER BY pool, passed_s DESC, entity_kind, entity
