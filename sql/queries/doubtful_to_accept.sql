-- Doubtful records of a cluster.
-- parameters: cluster VARCHAR, file VARCHAR
SELECT input_id, byte_offset
FROM doubtful
WHERE cluster = $cluster AND ($file IS NULL OR file = $file)
ORDER BY input_id, byte_offset
