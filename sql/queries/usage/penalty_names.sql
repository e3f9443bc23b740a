-- The penalties under which a period's usage is known, and which of them is configured.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT DISTINCT penalty, configured
FROM penalty_result
WHERE cluster = $cluster AND period = $period
ORDER BY penalty
