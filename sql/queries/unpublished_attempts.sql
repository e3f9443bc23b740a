-- The attempts of a cluster that may become part of a published block: they ended, their waits have an
-- account, and no block of their pool contains their end.
-- parameters: cluster VARCHAR, schedule VARCHAR, ended VARCHAR
SELECT
    pool, "user", account, width_class, walltime_s, size, end_time, occupancy_s, wait_s,
    COLUMNS('^cause_[a-z_]+_s$')
FROM job_result AS job
WHERE cluster = $cluster AND schedule = $schedule AND standing = $ended
    AND wait_s IS NOT NULL AND cause_unexplained_s IS NOT NULL
    AND NOT EXISTS (
        SELECT 1 FROM published_block AS block
        WHERE block.cluster = job.cluster AND block.pool = job.pool
            AND job.end_time >= block.from_time AND job.end_time < block.to_time
    )
