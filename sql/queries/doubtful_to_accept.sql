-- Doubtful records of a cluster, without those whose month is archived.
-- parameters: cluster VARCHAR, file VARCHAR
SELECT input_id, byte_offset
FROM doubtful
WHERE cluster = $cluster AND ($file IS NULL OR file = $file)
    AND NOT EXISTS (
        SELECT 1 FROM archived
        WHERE archived.cluster = doubtful.cluster AND doubtful.end_time < archived.to_time
    )
ORDER BY input_id, byte_offset
