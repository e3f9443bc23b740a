-- The latest instant in the records of a cluster, epoch s; NULL if it has no records.
-- parameters: cluster VARCHAR
SELECT max(greatest(submit_time, eligible_time, start_time, end_time)) AS latest
FROM records
WHERE cluster = $cluster AND NOT superseded
