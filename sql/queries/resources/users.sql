-- The users with the highest occupancy of each resource of each pool, and the occupancy of all
-- users; with the share of the resource that the pool counts.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR, rows BIGINT
WITH used AS (
    SELECT
        pool, substr(metric, 6) AS resource, dimension_value AS "user", value, attempts,
        -- Decimals, so that the sum does not depend on the order of rows.
        sum(value::DECIMAL(38, 12)) OVER (PARTITION BY pool, metric)::DOUBLE AS total
    FROM summary_result
    WHERE cluster = $cluster AND schedule = $schedule AND period = $period
        AND dimension = 'user' AND starts_with(metric, 'used_')
),
placed AS (
    SELECT
        used.*, counted.value / nullif(counted.total, 0) AS share_of_counted,
        row_number() OVER (
            PARTITION BY used.pool, used.resource
            ORDER BY used.value DESC, used."user" NULLS LAST
        ) AS place,
        count(*) OVER (PARTITION BY used.pool, used.resource) AS users
    FROM used
    LEFT JOIN pools ON pools.cluster = $cluster AND pools.pool = used.pool
    LEFT JOIN used AS counted
        ON counted.pool = used.pool AND counted.resource = pools.resource
        AND counted."user" IS NOT DISTINCT FROM used."user"
    WHERE used.value > 0
)
SELECT
    pool, resource, total, greatest(users - $rows, 0) AS left_out,
    "user", value, value / total AS share, share_of_counted, attempts
FROM placed
WHERE place <= $rows
ORDER BY pool, resource, place
