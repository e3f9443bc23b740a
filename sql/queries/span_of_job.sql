-- When a job came, as far as that is known, and when the last of its attempts ended, epoch s (NULL: one has not);
-- both NULL where there is no such job.
-- parameters: cluster VARCHAR, job_id VARCHAR
SELECT
    min(coalesce(least(coalesce(eligible_time, submit_time), start_time), end_time, 0)) AS first,
    CASE WHEN count(*) = count(end_time) THEN max(end_time) END AS last
FROM all_records
WHERE cluster = $cluster AND job_id = $job_id AND NOT superseded
