-- The inputs that figures of a span rest on: those with a record of an attempt that was there
-- while an attempt that belongs to the span was.
-- parameters: cluster VARCHAR, from_time BIGINT, to_time BIGINT
WITH lives AS (
    SELECT
        input_id,
        coalesce(least(eligible_time, submit_time, start_time), end_time, $from_time) AS arrived,
        coalesce(end_time, $to_time) AS gone,
        end_time
    FROM records
    WHERE cluster = $cluster AND NOT superseded
),
span AS (
    SELECT least($from_time, min(arrived)) AS first
    FROM lives
    WHERE coalesce(end_time, arrived) >= $from_time AND coalesce(end_time, arrived) < $to_time
),
present AS (
    SELECT DISTINCT input_id
    FROM lives, span
    WHERE arrived < $to_time AND gone >= coalesce(span.first, $from_time)
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
