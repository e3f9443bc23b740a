-- The number of records of a source, doubtful ones included, with a time on each day since the epoch.
-- parameters: cluster VARCHAR, source VARCHAR
-- The inputs of the source are selected first: joining ten million rows of the union on input_id
-- causes an internal error in DuckDB 2.0. A time at which a job becomes eligible counts up to its start
-- or end, else up to its submission: a later one may be a plan.
WITH mine AS (
    SELECT input_id FROM inputs WHERE source = $source
),
days AS (
    SELECT
        submit_time // 86400 AS submitted,
        least(eligible_time, coalesce(start_time, end_time, submit_time)) // 86400 AS eligible,
        start_time // 86400 AS started, end_time // 86400 AS ended
    FROM records
    WHERE cluster = $cluster AND input_id IN (FROM mine)
    UNION ALL
    SELECT
        submit_time // 86400,
        least(eligible_time, coalesce(start_time, end_time, submit_time)) // 86400,
        start_time // 86400, end_time // 86400
    FROM doubtful
    WHERE cluster = $cluster AND input_id IN (FROM mine)
),
alike AS (
    SELECT submitted, eligible, started, ended, count(*) AS records
    FROM days
    GROUP BY ALL
),
laid AS (
    SELECT unnest(list_distinct([submitted, eligible, started, ended])) AS day, records
    FROM alike
)
SELECT day, sum(records)::BIGINT AS records
FROM laid
WHERE day IS NOT NULL
GROUP BY day
ORDER BY day
