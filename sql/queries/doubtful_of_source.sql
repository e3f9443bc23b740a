-- The doubtful records of a source, and whether their dates were accepted; without those whose month
-- is archived.
-- parameters: cluster VARCHAR, source VARCHAR
SELECT
    doubtful.*,
    EXISTS (
        SELECT 1 FROM accepted
        WHERE accepted.input_id = doubtful.input_id
            AND accepted.byte_offset = doubtful.byte_offset
    ) AS accepted
FROM doubtful JOIN inputs USING (input_id)
WHERE doubtful.cluster = $cluster AND source = $source
    AND NOT EXISTS (
        SELECT 1 FROM archived
        WHERE archived.cluster = doubtful.cluster AND doubtful.end_time < archived.to_time
    )
ORDER BY input_id, byte_offset
