-- The inputs that figures of a span depend on. They have a record of an attempt that was queued or
-- running at the same time as an attempt of the span, or at most "lead" seconds before. No such
-- attempt ended before "since" (epoch s; NULL: unknown).
-- parameters: cluster VARCHAR, from_time BIGINT, to_time BIGINT, since BIGINT, lead BIGINT
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
span AS (SELECT coalesce(least($from_time, min(arrived)), $from_time) - $lead AS first FROM own),
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
    -- records set aside or replayed, so that the store differs from the log
    (SELECT count(*) FROM doubtful WHERE doubtful.input_id = present.input_id) AS doubtful,
    (
        SELECT count(*) FROM refused
        WHERE refused.input_id = present.input_id AND replayed_at IS NOT NULL
    ) AS replayed
FROM present
ORDER BY input_id
