-- The latest time up to now in a source's records (epoch s); NULL if it has no records.
-- parameters: cluster VARCHAR, source VARCHAR, now BIGINT
SELECT max(least(greatest(submit_time, start_time, end_time), $now)) AS newest
FROM records JOIN inputs USING (input_id)
WHERE inputs.cluster = $cluster AND source = $source
