-- The logs of a cluster, with the length and hash of their texts.
-- parameters: cluster VARCHAR
SELECT bytes, content_sha256 FROM inputs WHERE cluster = $cluster ORDER BY bytes, content_sha256
