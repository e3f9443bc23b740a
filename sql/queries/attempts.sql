-- The attempts of a cluster as recorded: those that ended at an instant or later, or never, and
-- arrived before another (epoch s; NULL: no bound). Ordered by arrival; ties by sequence (SPEC §1).
-- parameters: cluster VARCHAR, since BIGINT, until BIGINT
-- archive: since, until
SELECT * EXCLUDE (superseded, input_id)
FROM all_records
WHERE cluster = $cluster AND NOT superseded
    AND ($since IS NULL OR end_time IS NULL OR end_time >= $since)
    AND (
        $until IS NULL
        OR coalesce(least(coalesce(eligible_time, submit_time), start_time, end_time) < $until, true)
    )
ORDER BY
    CASE
        WHEN eligible_time IS NOT NULL OR submit_time IS NOT NULL
            THEN least(coalesce(eligible_time, submit_time), start_time, end_time)
    END NULLS FIRST,
    submit_time NULLS FIRST, job_number NULLS FIRST, array_task NULLS FIRST,
    het_offset NULLS FIRST, attempt NULLS FIRST, line NULLS FIRST, job_id
