-- The headers of a cluster's logs, by name of the log, and how many records each log has that no other has.
-- parameters: cluster VARCHAR
SELECT file, dialect, header::VARCHAR AS header, records - duplicates AS records FROM inputs WHERE cluster = $cluster ORDER BY file, input_id
