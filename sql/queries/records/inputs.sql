-- The logs that were read for a cluster: these, or all. Notes of their headers are lines, and the
-- names of their columns are separated by commas.
-- parameters: cluster VARCHAR, whole BOOLEAN, inputs VARCHAR[]
SELECT file, dialect, content_sha256, bytes, records, refused, duplicates,
    header ->> '$.entries.Note' AS notes, header ->> '$.entries.columns' AS columns
FROM inputs
WHERE cluster = $cluster AND ($whole OR list_contains($inputs::VARCHAR[], input_id))
ORDER BY file, content_sha256
