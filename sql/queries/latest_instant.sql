-- The last thing that the records of a cluster tell of, epoch s; NULL where there are none.
-- parameters: cluster VARCHAR
SELECT max(greatest(submit_time, eligible_time, start_time, end_time)) AS latest
FROM records
WHERE cluster = $cluster AND NOT superseded
