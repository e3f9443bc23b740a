-- A cluster's reports of periods that are over, newest first.
-- parameters: cluster VARCHAR, now BIGINT
SELECT period, from_time, to_time, run_id
FROM run
WHERE cluster = $cluster AND stage = 'report' AND state = 'done' AND to_time <= $now
ORDER BY to_time DESC, period
