-- The rules in force in a period, and the users whose jobs were held.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT pool, 'rule' AS what, rule, name, kind, scope, source, per, unit, level
FROM rule_result
WHERE cluster = $cluster AND period = $period
UNION ALL
SELECT pool, 'hold', entity, NULL, kind, entity_kind, NULL, NULL, NULL, NULL
FROM hold_result
WHERE cluster = $cluster AND period = $period
ORDER BY pool, what, kind, rule
