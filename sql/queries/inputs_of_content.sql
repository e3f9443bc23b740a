-- The inputs with a log's content, and the columns by which they were read (NULL: by an earlier
-- version).
-- parameters: content_sha256 VARCHAR
SELECT input_id, cluster, log_cluster, elsewhere, header ->> 'reading' AS reading
FROM inputs
WHERE content_sha256 = $content_sha256
ORDER BY input_id
