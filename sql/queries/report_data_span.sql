-- The first arrival and the last end that the log knows of.
-- parameters: cluster VARCHAR, schedule VARCHAR
SELECT min(arrival_time) AS first_arrival, max(end_time) AS last_end
FROM job_result
WHERE cluster = $cluster AND schedule = $schedule
