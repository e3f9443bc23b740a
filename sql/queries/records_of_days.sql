-- The records of a source with a time in one of some spans of days, but for those called right.
-- parameters: cluster VARCHAR, source VARCHAR, firsts BIGINT[], lasts BIGINT[]
WITH spans AS (
    SELECT unnest($firsts::BIGINT[]) AS first, unnest($lasts::BIGINT[]) AS last
)
SELECT records.*, inputs.file
FROM records JOIN inputs USING (input_id)
WHERE records.cluster = $cluster AND source = $source
    AND EXISTS (
        SELECT 1 FROM spans
        WHERE submit_time // 86400 BETWEEN first AND last
            OR eligible_time // 86400 BETWEEN first AND last
            OR start_time // 86400 BETWEEN first AND last
            OR end_time // 86400 BETWEEN first AND last
    )
    AND NOT EXISTS (
        SELECT 1 FROM accepted
        WHERE accepted.input_id = records.input_id AND accepted.byte_offset = records.byte_offset
    )
ORDER BY input_id, byte_offset
