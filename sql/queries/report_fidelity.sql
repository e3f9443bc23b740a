-- How well a replay reproduces the starts of a period, by pool; a pool has one policy.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT pool, "order", backfill, fair_order, metric, value, unit
FROM fidelity_result
WHERE cluster = $cluster AND period = $period
ORDER BY pool, "order", backfill, metric
