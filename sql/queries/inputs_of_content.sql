-- The inputs that brought a log's bytes, one for each cluster they were taken in for.
-- parameters: content_sha256 VARCHAR
SELECT input_id, log_cluster, elsewhere FROM inputs WHERE content_sha256 = $content_sha256
