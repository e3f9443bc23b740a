-- What the verdicts on a period's pools are decided by, and the bounds of the report before.
-- parameters: cluster VARCHAR, period VARCHAR, from_time BIGINT
WITH before AS (
    SELECT pool, bounds
    FROM verdict_result
    WHERE cluster = $cluster AND to_time <= $from_time
    QUALIFY row_number() OVER (PARTITION BY pool ORDER BY to_time DESC, from_time, period) = 1
)
SELECT base_result.*, before.bounds
FROM base_result LEFT JOIN before USING (pool)
WHERE cluster = $cluster AND period = $period
ORDER BY waited_s DESC, pool
