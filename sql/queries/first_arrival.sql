-- The first arrival of the attempts that ended in a span (epoch s); NULL if none is known.
-- parameters: cluster VARCHAR, from_time BIGINT, to_time BIGINT
-- archive: from_time, to_time
SELECT min(least(coalesce(eligible_time, submit_time), start_time, end_time)) AS first
FROM all_records
WHERE cluster = $cluster AND NOT superseded
    AND ($from_time IS NULL OR end_time >= $from_time) AND ($to_time IS NULL OR end_time < $to_time)
