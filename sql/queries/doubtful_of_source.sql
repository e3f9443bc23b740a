-- The doubtful records of a source, and whether somebody called their dates right.
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
ORDER BY input_id, byte_offset
