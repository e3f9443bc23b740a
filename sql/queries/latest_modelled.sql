-- The latest modelled start of the attempts that ended in a span, epoch s; NULL without any.
-- parameters: cluster VARCHAR, from_time BIGINT, to_time BIGINT
SELECT max(start_modelled) AS latest
FROM job_result
WHERE cluster = $cluster
    AND ($from_time IS NULL OR end_time >= $from_time) AND ($to_time IS NULL OR end_time < $to_time)
