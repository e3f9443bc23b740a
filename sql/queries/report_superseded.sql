-- How many records of some inputs (NULL: of all) give way to others: summaries to the bursts that
-- they sum up, earlier versions to later ones.
-- parameters: cluster VARCHAR, inputs VARCHAR[]
-- archive: inputs
SELECT count(*) AS superseded
FROM all_records
WHERE cluster = $cluster AND superseded
    AND coalesce(list_contains($inputs::VARCHAR[], input_id), true)
