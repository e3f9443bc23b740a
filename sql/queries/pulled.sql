-- The windows of a command that were taken in, and when each was last asked for.
-- parameters: cluster VARCHAR, source VARCHAR
SELECT from_time, to_time, pulled_at FROM pulled WHERE cluster = $cluster AND source = $source
