-- How many records of some inputs are in the archive.
-- parameters: inputs VARCHAR[]
SELECT coalesce(sum(records), 0)::BIGINT AS records FROM archived_input
WHERE input_id IN (SELECT unnest($inputs::VARCHAR[]))
