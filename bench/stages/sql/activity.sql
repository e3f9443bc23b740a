-- The pool's activity from the first arrival to the last end, in resource-seconds.
WITH events AS (
    SELECT arrival_time AS t, size AS queued, 0 AS used FROM described
    UNION ALL SELECT start_time, -size, size FROM described
    UNION ALL SELECT end_time, 0, -size FROM described
),
instants AS (
    SELECT t, sum(queued)::BIGINT AS queued, sum(used)::BIGINT AS used FROM events GROUP BY t
),
states AS (
    SELECT
        sum(queued) OVER (ORDER BY t) AS queued,
        sum(used) OVER (ORDER BY t) AS used,
        lead(t) OVER (ORDER BY t) - t AS lasts
    FROM instants
)
SELECT
    1 AS line,
    sum(used * lasts) AS used,
    sum(queued * lasts) AS queued,
    sum(least(greatest(getvariable('capacity') - used, 0), queued) * lasts) AS lost,
    sum(CASE WHEN used > getvariable('capacity') THEN lasts ELSE 0 END) AS over
FROM states
