-- The number of records of some inputs (NULL: all) that others replace: summaries by their bursts,
-- earlier versions by later ones.
-- parameters: cluster VARCHAR, inputs VARCHAR[]
-- archive: inputs
SELECT count(*) AS superseded
FROM all_records
WHERE cluster = $cluster AND superseded
    AND coalesce(list_contains($inputs::VARCHAR[], input_id), true)
