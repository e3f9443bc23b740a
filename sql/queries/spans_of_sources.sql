-- The first and last time of each source's records, and whether some are doubtful.
-- parameters: cluster VARCHAR
WITH timed AS (
    SELECT
        input_id, FALSE AS doubtful,
        least(submit_time, eligible_time, start_time, end_time) AS first,
        greatest(submit_time, eligible_time, start_time, end_time) AS last
    FROM records
    WHERE cluster = $cluster
    UNION ALL
    SELECT
        input_id, TRUE,
        least(submit_time, eligible_time, start_time, end_time),
        greatest(submit_time, eligible_time, start_time, end_time)
    FROM doubtful
    WHERE cluster = $cluster
)
SELECT source, min(first) AS first, max(last) AS last, bool_or(doubtful) AS doubtful
FROM timed JOIN inputs USING (input_id)
GROUP BY source
ORDER BY source
