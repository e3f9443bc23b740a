-- The attempts of each pool that later arrivals delayed most, on what the machine delivered. Covers
-- the attempts that ended in a period.
-- parameters: cluster VARCHAR, schedule VARCHAR, whole BOOLEAN, from_time BIGINT, to_time BIGINT, most BIGINT
-- archive: from_time, to_time
SELECT
    pool, job_id, attempt, "user", size, wait_s,
    COLUMNS('^cause_[a-z_]+_s$'),
    miss_delivered_s, miss_cautious_s
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule AND miss_delivered_s > 0
    AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
QUALIFY row_number() OVER (
    PARTITION BY pool ORDER BY miss_delivered_s DESC, arrival_time, job_id, attempt
) <= $most
ORDER BY pool, miss_delivered_s DESC, arrival_time, job_id, attempt
