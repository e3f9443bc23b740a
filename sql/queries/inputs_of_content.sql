-- The inputs with a log's content, one for each cluster.
-- parameters: content_sha256 VARCHAR
SELECT input_id, log_cluster, elsewhere FROM inputs WHERE content_sha256 = $content_sha256
