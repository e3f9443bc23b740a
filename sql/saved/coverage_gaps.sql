-- Days without records or with refused lines; consecutive days in the same state form one row.
-- $cluster VARCHAR = NULL: only this cluster
WITH gaps AS (
    SELECT
        cluster,
        state,
        day,
        records,
        refused,
        day - row_number() OVER (PARTITION BY cluster, state ORDER BY day)::INTEGER AS block
    FROM coverage
    WHERE state <> 'full' AND ($cluster IS NULL OR cluster = $cluster)
)

SELECT
    cluster,
    state,
    min(day) AS first_day,
    max(day) AS last_day,
    count(*) AS days,
    sum(records)::BIGINT AS records,
    sum(refused)::BIGINT AS refused
FROM gaps
GROUP BY cluster, state, block
ORDER BY cluster, first_day, state
