-- The inputs of a cluster with attempts that arrived before an instant, and ended since another one or
-- never; and when the first of them arrived, and the last one ended (epoch s; NULL: one is open).
-- parameters: cluster VARCHAR, since BIGINT, until BIGINT
-- archive: since, until
SELECT
    input_id,
    min(arrived) AS first,
    CASE WHEN count(*) = count(end_time) THEN max(end_time) END AS last,
    -- records set aside or replayed, so that the store differs from the log
    (SELECT count(*) FROM doubtful WHERE doubtful.input_id = found.input_id) AS doubtful,
    (
        SELECT count(*) FROM refused
        WHERE refused.input_id = found.input_id AND replayed_at IS NOT NULL
    ) AS replayed
FROM (
    SELECT input_id, end_time,
        coalesce(least(eligible_time, submit_time, start_time), end_time, $since) AS arrived
    FROM all_records
    WHERE cluster = $cluster AND NOT superseded AND (end_time IS NULL OR end_time >= $since)
) AS found
WHERE arrived < $until
GROUP BY input_id
ORDER BY input_id
