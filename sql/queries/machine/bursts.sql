-- The attempts of known users that bursts are made of: those that arrived in the period, or were
-- queued when it began. "work" is that of ended attempts, in seconds of the counted resource.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_time BIGINT, to_time BIGINT
-- archive: from_time, to_time
SELECT
    pool, "user", arrival_time, submit_time, start_time, end_time, attempt, job_id,
    try_cast(job_id AS BIGINT) AS job_number,
    NULL::BIGINT AS array_task, NULL::BIGINT AS het_offset, NULL::BIGINT AS line,
    if(standing = 'ended', coalesce(size::DOUBLE * occupancy_s, 0), 0) AS work
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule AND "user" IS NOT NULL
    AND arrival_time < $to_time
    AND (arrival_time >= $from_time OR coalesce(start_time, end_time, $to_time) > $from_time)
