-- The inputs that figures of a span rest on: those with a record of an attempt that was there
-- while an attempt that belongs to the span was.
-- parameters: cluster VARCHAR, from_time BIGINT, to_time BIGINT
WITH own AS (
    SELECT coalesce(least(eligible_time, submit_time, start_time), end_time, $from_time) AS arrived, end_time
    FROM all_records
    WHERE cluster = $cluster AND NOT superseded AND (end_time IS NULL OR end_time >= $from_time)
),
span AS (
    SELECT least($from_time, min(arrived)) AS first
    FROM own
    WHERE coalesce(end_time, arrived) >= $from_time AND coalesce(end_time, arrived) < $to_time
),
present AS (
    SELECT DISTINCT input_id
    FROM all_records
    WHERE cluster = $cluster AND NOT superseded
        AND coalesce(least(eligible_time, submit_time, start_time), end_time, $from_time) < $to_time
        AND coalesce(end_time, $to_time) >= coalesce((SELECT first FROM span), $from_time)
)
SELECT
    input_id,
    -- what of it was taken back, or taken in later: other records than the log alone would give
    (SELECT count(*) FROM doubtful WHERE doubtful.input_id = present.input_id) AS doubtful,
    (
        SELECT count(*) FROM refused
        WHERE refused.input_id = present.input_id AND replayed_at IS NOT NULL
    ) AS replayed
FROM present
ORDER BY input_id
