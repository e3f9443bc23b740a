-- What each account held beside what it was entitled to, largest deficit first; of the first account also over time, in at most 120 steps.
-- parameters: cluster VARCHAR, period VARCHAR
WITH spans AS (
    SELECT
        pool, min(from_time) AS first,
        greatest(3600, 3600 * CAST(ceil((max(to_time) - min(from_time)) / 432000) AS BIGINT)) AS step_s
    FROM share_result
    WHERE cluster = $cluster AND period = $period
    GROUP BY pool
),

steps AS (
    SELECT
        pool, account, (from_time - first) // step_s AS step,
        sum(to_time - from_time) AS seconds,
        sum((held * (to_time - from_time))::DECIMAL(18, 6)) AS held,
        sum((entitled * (to_time - from_time))::DECIMAL(18, 6)) AS entitled,
        sum(deficit::DECIMAL(18, 6)) AS deficit
    FROM share_result
    JOIN spans USING (pool)
    WHERE cluster = $cluster AND period = $period
    GROUP BY ALL
),

accounts AS (
    SELECT
        pool, account AS name,
        sum(seconds) AS demanded_s,
        (sum(held) / sum(seconds))::DOUBLE AS held,
        (sum(entitled) / sum(seconds))::DOUBLE AS entitled,
        sum(deficit)::DOUBLE AS deficit,
        list(step ORDER BY step) AS step,
        list((held / step_s)::DOUBLE ORDER BY step) AS held_at,
        list((entitled / step_s)::DOUBLE ORDER BY step) AS entitled_at,
        any_value(first) AS first,
        any_value(step_s) AS step_s,
        row_number() OVER (PARTITION BY pool ORDER BY sum(deficit) DESC, account) AS place
    FROM steps
    JOIN spans USING (pool)
    GROUP BY pool, account
)

SELECT
    pool, name, demanded_s, held, entitled, deficit, first, step_s,
    CASE WHEN place = 1 THEN step ELSE [] END AS step,
    CASE WHEN place = 1 THEN held_at ELSE [] END AS held_at,
    CASE WHEN place = 1 THEN entitled_at ELSE [] END AS entitled_at
FROM accounts
WHERE deficit > 0
ORDER BY pool, place
