-- The end of the last period that was computed before an instant; NULL without any.
-- parameters: cluster VARCHAR, from_time BIGINT
SELECT max(to_time) AS ended
FROM run
WHERE cluster = $cluster AND stage = 'compute' AND to_time <= $from_time AND from_time < to_time
