-- What the headers of a cluster's logs said, in the order of the logs' names.
-- parameters: cluster VARCHAR
SELECT file, dialect, header::VARCHAR AS header FROM inputs WHERE cluster = $cluster ORDER BY file, input_id
