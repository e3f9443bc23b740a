-- The logs that were read for a cluster: these, or all; the notes of their headers are lines.
-- parameters: cluster VARCHAR, whole BOOLEAN, inputs VARCHAR[]
SELECT file, dialect, content_sha256, bytes, records, refused, duplicates, header ->> '$.entries.Note' AS notes
FROM inputs
WHERE cluster = $cluster AND ($whole OR list_contains($inputs::VARCHAR[], input_id))
ORDER BY file, content_sha256
