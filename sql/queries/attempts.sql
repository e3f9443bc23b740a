-- The attempts of a cluster, as the log recorded them, in the order in which they arrived; ties in
-- that of SPEC §1 (sequence).
-- parameters: cluster VARCHAR
SELECT * EXCLUDE (superseded, input_id)
FROM records
WHERE cluster = $cluster AND NOT superseded
ORDER BY
    CASE
        WHEN eligible_time IS NOT NULL OR submit_time IS NOT NULL
            THEN least(coalesce(eligible_time, submit_time), start_time)
    END NULLS FIRST,
    submit_time NULLS FIRST, job_number NULLS FIRST, array_task NULLS FIRST,
    het_offset NULLS FIRST, attempt NULLS FIRST, line NULLS FIRST, job_id
