-- New records of some inputs that ended before the end of their cluster's archive, and whether the
-- archive has the same record from another input. Old records have figures: their job continues.
-- parameters: cluster VARCHAR, inputs VARCHAR[], until BIGINT
WITH late AS (
    SELECT *
    FROM records
    WHERE cluster = $cluster AND list_contains($inputs::VARCHAR[], input_id) AND end_time < $until
        AND (job_id, attempt) NOT IN (
            SELECT (job_id, attempt) FROM job_result
            WHERE cluster = $cluster AND schedule = 'observed' AND end_time < $until
        )
),
same AS (
    SELECT DISTINCT late.input_id, late.byte_offset
    FROM late JOIN all_records AS kept
        ON kept.cluster = late.cluster AND kept.job_id = late.job_id AND kept.kind = late.kind
        AND kept.end_time = late.end_time
        AND kept.submit_time IS NOT DISTINCT FROM late.submit_time
        AND kept.start_time IS NOT DISTINCT FROM late.start_time
        AND kept.state IS NOT DISTINCT FROM late.state
        AND kept."user" IS NOT DISTINCT FROM late."user"
        AND kept.input_id <> late.input_id
    WHERE kept.cluster = $cluster AND kept.end_time < $until
)
SELECT late.*, inputs.file, same.input_id IS NOT NULL AS known
FROM late
JOIN inputs USING (input_id)
LEFT JOIN same USING (input_id, byte_offset)
ORDER BY input_id, byte_offset
