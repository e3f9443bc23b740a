-- The logs of a cluster, with the length and hash of their texts, and the columns by which they
-- were read (NULL: by an earlier version).
-- parameters: cluster VARCHAR
SELECT bytes, content_sha256, header ->> 'reading' AS reading
FROM inputs
WHERE cluster = $cluster
ORDER BY bytes, content_sha256, reading
