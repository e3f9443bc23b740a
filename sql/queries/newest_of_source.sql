-- The latest time up to now that a source's records tell of (epoch s); null where it has none.
-- parameters: cluster VARCHAR, source VARCHAR, now BIGINT
SELECT max(least(greatest(submit_time, start_time, end_time), $now)) AS newest
FROM records JOIN inputs USING (input_id)
WHERE inputs.cluster = $cluster AND source = $source
