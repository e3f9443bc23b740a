-- How well rules agree with the starts of a period, and how well a replay under the modelled policy
-- reproduces them, by pool. The rows of the policy, which have no own_peak, come first.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT pool, "order", backfill, own_peak, fair_order, metric, value, unit
FROM fidelity_result
WHERE cluster = $cluster AND period = $period
ORDER BY pool, own_peak NULLS FIRST, "order", backfill, metric
