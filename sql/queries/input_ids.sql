-- The inputs that figures of a span rest on: those with a record of an attempt that was queued or
-- running while an attempt that belongs to the span was. None of these ended before "since" (epoch s;
-- NULL: not known).
-- parameters: cluster VARCHAR, from_time BIGINT, to_time BIGINT, since BIGINT
-- archive: since, to_time
WITH own AS (
    SELECT coalesce(least(eligible_time, submit_time, start_time), end_time) AS arrived
    FROM all_records
    WHERE cluster = $cluster AND NOT superseded AND end_time >= $from_time AND end_time < $to_time
    UNION ALL
    SELECT least(eligible_time, submit_time, start_time)
    FROM all_records
    WHERE cluster = $cluster AND NOT superseded AND end_time IS NULL
        AND coalesce(least(eligible_time, submit_time, start_time), $from_time) >= $from_time
        AND coalesce(least(eligible_time, submit_time, start_time), $from_time) < $to_time
),
span AS (SELECT coalesce(least($from_time, min(arrived)), $from_time) AS first FROM own),
present AS (
    SELECT DISTINCT input_id
    FROM all_records
    WHERE cluster = $cluster AND NOT superseded AND end_time >= (SELECT first FROM span)
        AND coalesce(least(eligible_time, submit_time, start_time), end_time) < $to_time
    UNION
    SELECT DISTINCT input_id
    FROM all_records
    WHERE cluster = $cluster AND NOT superseded AND end_time IS NULL
        AND coalesce(least(eligible_time, submit_time, start_time), $from_time) < $to_time
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
