-- The arrival of a job, if known, and the end of its last attempt (NULL: one is open), epoch s; both
-- NULL if there is no such job.
-- parameters: cluster VARCHAR, job_id VARCHAR
SELECT
    min(coalesce(least(coalesce(eligible_time, submit_time), start_time, end_time), end_time, 0)) AS first,
    CASE WHEN count(*) = count(end_time) THEN max(end_time) END AS last
FROM all_records
WHERE cluster = $cluster AND job_id = $job_id AND NOT superseded
