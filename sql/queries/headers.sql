-- The headers of a cluster's logs, by name of the log.
-- parameters: cluster VARCHAR
SELECT file, dialect, header::VARCHAR AS header FROM inputs WHERE cluster = $cluster ORDER BY file, input_id
