-- The logs of a cluster that were taken in: how long each was, and the hash of its text.
-- parameters: cluster VARCHAR
SELECT bytes, content_sha256 FROM inputs WHERE cluster = $cluster ORDER BY bytes, content_sha256
