-- The logs that were read for a cluster.
-- parameters: cluster VARCHAR
SELECT file, dialect, content_sha256, bytes, records, refused, duplicates
FROM inputs
WHERE cluster = $cluster
ORDER BY file, content_sha256
