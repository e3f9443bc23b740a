-- How many records of these inputs, or of all, give way to others: summaries to the bursts that
-- they sum up, earlier versions to later ones.
-- parameters: cluster VARCHAR, whole BOOLEAN, inputs VARCHAR[]
SELECT count(*) AS superseded
FROM all_records
WHERE cluster = $cluster AND superseded
    AND ($whole OR list_contains($inputs::VARCHAR[], input_id))
