-- The attempts of a cluster as recorded, with their arrival (SPEC §1): those that ended at an instant or
-- later, or never, and arrived before another (epoch s; NULL: no bound).
-- parameters: cluster VARCHAR, since BIGINT, until BIGINT
-- archive: since, until
SELECT
    * EXCLUDE (superseded, input_id),
    CASE
        WHEN eligible_time IS NOT NULL OR submit_time IS NOT NULL
            THEN least(coalesce(eligible_time, submit_time), start_time, end_time)
    END AS arrival_time
FROM all_records
WHERE cluster = $cluster AND NOT superseded
    AND ($since IS NULL OR end_time IS NULL OR end_time >= $since)
    AND (
        $until IS NULL
        OR coalesce(least(coalesce(eligible_time, submit_time), start_time, end_time) < $until, true)
    )
