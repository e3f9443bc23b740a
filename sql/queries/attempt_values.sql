-- The least, the greatest, and the number of values in each column of a cluster's attempts (as in
-- attempts.sql).
-- parameters: cluster VARCHAR, since BIGINT, until BIGINT
-- archive: since, until
SELECT
    count(*) AS rows,
    min(COLUMNS(* EXCLUDE (superseded, input_id))) AS "least \0",
    max(COLUMNS(* EXCLUDE (superseded, input_id))) AS "greatest \0",
    count(COLUMNS(* EXCLUDE (superseded, input_id))) AS "known \0"
FROM all_records
WHERE cluster = $cluster AND NOT superseded
    AND ($since IS NULL OR end_time IS NULL OR end_time >= $since)
    AND (
        $until IS NULL
        OR coalesce(least(coalesce(eligible_time, submit_time), start_time, end_time) < $until, true)
    )
