-- The figures of a whole pool that the run of a period changed, the largest relative change first.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT metric, old_value, new_value, because, count(*) OVER () AS figures
FROM restatement JOIN run USING (run_id, cluster, period)
WHERE cluster = $cluster AND period = $period AND stage = 'compute' AND dimension = 'all'
ORDER BY
    abs(new_value - old_value) / nullif(abs(old_value), 0) DESC NULLS LAST,
    metric, old_value, new_value
