-- The number of records of some inputs that ended in a span, by log.
-- parameters: cluster VARCHAR, inputs VARCHAR[], from_time BIGINT, to_time BIGINT
-- archive: from_time, to_time
SELECT file, count(records.input_id) AS records
FROM inputs LEFT JOIN all_records AS records
    ON records.input_id = inputs.input_id
    AND coalesce(end_time, least(submit_time, eligible_time, start_time)) >= $from_time
    AND coalesce(end_time, least(submit_time, eligible_time, start_time)) < $to_time
WHERE inputs.cluster = $cluster AND list_contains($inputs::VARCHAR[], inputs.input_id)
GROUP BY file, inputs.input_id
ORDER BY records DESC, file
