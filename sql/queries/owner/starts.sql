-- The predictions for the pending jobs of a user, of those that were made last in a period.
-- parameters: cluster VARCHAR, name VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN
WITH made AS (
    SELECT *
    FROM prediction_result
    WHERE cluster = $cluster AND kind = 'pending'
        AND ($whole OR made_at >= $from_time AND made_at < $to_time)
    QUALIFY made_at = max(made_at) OVER ()
)
SELECT made.pool, job_id, attempt, made_at, p10, p50, p90
FROM made JOIN job_result AS job USING (cluster, pool, job_id, attempt)
WHERE schedule = 'observed' AND "user" = $name AND p50 IS NOT NULL
ORDER BY p50, job_id, attempt
