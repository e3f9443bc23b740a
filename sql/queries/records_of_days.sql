-- The records of a source with a time (as in days_of_source.sql) in some spans of days, without those
-- accepted by hand.
-- parameters: cluster VARCHAR, source VARCHAR, firsts BIGINT[], lasts BIGINT[]
WITH spans AS (
    SELECT unnest($firsts::BIGINT[]) AS first, unnest($lasts::BIGINT[]) AS last
),
chosen AS (
    SELECT *
    FROM records
    WHERE cluster = $cluster
        AND input_id IN (SELECT input_id FROM inputs WHERE source = $source)
        AND EXISTS (
            SELECT 1 FROM spans
            WHERE submit_time // 86400 BETWEEN first AND last
                OR least(eligible_time, coalesce(start_time, end_time, submit_time)) // 86400
                    BETWEEN first AND last
                OR start_time // 86400 BETWEEN first AND last
                OR end_time // 86400 BETWEEN first AND last
        )
)
SELECT chosen.*, inputs.file
FROM chosen JOIN inputs USING (input_id)
WHERE NOT EXISTS (
    SELECT 1 FROM accepted
    WHERE accepted.input_id = chosen.input_id AND accepted.byte_offset = chosen.byte_offset
)
ORDER BY input_id, byte_offset
