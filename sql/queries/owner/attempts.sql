-- The attempts of some users and accounts of a cluster that arrived before "until" and had not ended
-- at "since". Instants are epoch s; NULL: no bound.
-- parameters: cluster VARCHAR, schedule VARCHAR, until BIGINT, since BIGINT, users VARCHAR[], accounts VARCHAR[]
-- archive: since, until
SELECT
    pool, job_id, attempt, "user", account, standing, size, width_class, walltime_s,
    cpus, beyond_work, beyond_request,
    arrival_time, start_time, end_time, wait_s, occupancy_s, cause_unexplained_s IS NOT NULL AS taken_apart,
    held_by
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule AND arrival_time IS NOT NULL
    AND ($until IS NULL OR arrival_time < $until)
    AND ($since IS NULL OR end_time IS NULL OR end_time >= $since)
    AND (list_contains($users::VARCHAR[], "user") OR list_contains($accounts::VARCHAR[], account))
