-- The attempts of each pool that missed their fair start times most because of later arrivals,
-- under the modelled policy. The order is by the smaller of the delay by later arrivals and the
-- miss. Covers the attempts that ended in a period and have a fair start time that counts.
-- parameters: cluster VARCHAR, schedule VARCHAR, whole BOOLEAN, from_time BIGINT, to_time BIGINT, counted VARCHAR[], most BIGINT
-- archive: from_time, to_time
SELECT
    pool, job_id, attempt, "user", size, wait_s,
    COLUMNS('^cause_[a-z_]+_s$'),
    overtaken_s, overtaken_own_s, unmodelled_s
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule AND overtaken_s > 0 AND miss_strict_s > 0
    AND list_contains($counted::VARCHAR[], fst_status)
    AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
QUALIFY row_number() OVER (
    PARTITION BY pool ORDER BY least(overtaken_s, miss_strict_s) DESC, arrival_time, job_id, attempt
) <= $most
ORDER BY pool, least(overtaken_s, miss_strict_s) DESC, arrival_time, job_id, attempt
