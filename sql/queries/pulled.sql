-- The windows of a command that were read completely, and when each was last requested.
-- parameters: cluster VARCHAR, source VARCHAR
SELECT from_time, to_time, pulled_at FROM pulled WHERE cluster = $cluster AND source = $source
