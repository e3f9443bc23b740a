-- The rules that were in force in a period, each with its evidence and its waiting.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT pool, coalesce(name, rule) AS name, rule, source, valid_from, valid_to, starts, breaks, waiting_s, free_s
FROM rule_result
WHERE cluster = $cluster AND period = $period
ORDER BY pool, waiting_s DESC NULLS LAST, rule
