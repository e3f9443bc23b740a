-- The latest submission, start or end in the records of a cluster, epoch s; NULL without any. The
-- time at which a job becomes eligible may be a plan.
-- parameters: cluster VARCHAR
SELECT max(greatest(submit_time, start_time, end_time)) AS latest
FROM records
WHERE cluster = $cluster AND NOT superseded
