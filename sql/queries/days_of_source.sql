-- How many records of a source, doubtful ones included, have a time on each day since the epoch.
-- parameters: cluster VARCHAR, source VARCHAR
WITH timed AS (
    SELECT input_id, submit_time, eligible_time, start_time, end_time
    FROM records
    WHERE cluster = $cluster
    UNION ALL
    SELECT input_id, submit_time, eligible_time, start_time, end_time
    FROM doubtful
    WHERE cluster = $cluster
),
dated AS (
    SELECT unnest(list_distinct([
        submit_time // 86400, eligible_time // 86400, start_time // 86400, end_time // 86400
    ])) AS day
    FROM timed JOIN inputs USING (input_id)
    WHERE source = $source
)
SELECT day, count(*) AS records
FROM dated
WHERE day IS NOT NULL
GROUP BY day
ORDER BY day
