-- The first arrival and the last end of the attempts that ended in a span, or of all.
-- parameters: cluster VARCHAR, schedule VARCHAR, whole BOOLEAN, from_time BIGINT, to_time BIGINT
-- archive: from_time, to_time
SELECT min(arrival_time) AS first_arrival, max(end_time) AS last_end
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule
    AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
