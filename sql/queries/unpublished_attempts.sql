-- The attempts of a pool that may become part of a published block: they ended, their waits have an
-- account, and their ends are not between two instants (epoch s; NULL: any).
-- parameters: cluster VARCHAR, pool VARCHAR, schedule VARCHAR, ended VARCHAR, since BIGINT, until BIGINT
SELECT
    "user", account, width_class, walltime_s, size, end_time, occupancy_s, wait_s,
    COLUMNS('^cause_[a-z_]+_s$')
FROM job_result
WHERE cluster = $cluster AND pool = $pool AND schedule = $schedule AND standing = $ended
    AND wait_s IS NOT NULL AND cause_unexplained_s IS NOT NULL
    AND coalesce(end_time < $since OR end_time >= $until, true)
