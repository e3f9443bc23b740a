-- The first and last time of each source's records, and whether some are doubtful. A time at which a
-- job becomes eligible is never the last: it may be a plan.
-- parameters: cluster VARCHAR
WITH kept AS (
    SELECT
        input_id,
        min(least(submit_time, eligible_time, start_time, end_time)) AS first,
        max(greatest(submit_time, start_time, end_time)) AS last
    FROM records
    WHERE cluster = $cluster
    GROUP BY input_id
),
aside AS (
    SELECT
        input_id,
        min(least(submit_time, eligible_time, start_time, end_time)) AS first,
        max(greatest(submit_time, start_time, end_time)) AS last
    FROM doubtful
    WHERE cluster = $cluster
    GROUP BY input_id
)
SELECT
    source,
    min(least(kept.first, aside.first)) AS first,
    max(greatest(kept.last, aside.last)) AS last,
    bool_or(aside.input_id IS NOT NULL) AS doubtful
FROM inputs
LEFT JOIN kept USING (input_id)
LEFT JOIN aside USING (input_id)
WHERE inputs.cluster = $cluster AND (kept.input_id IS NOT NULL OR aside.input_id IS NOT NULL)
GROUP BY source
ORDER BY source
