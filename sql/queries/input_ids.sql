-- Which inputs a cluster's records came from.
-- parameters: cluster VARCHAR
SELECT input_id FROM inputs WHERE cluster = $cluster ORDER BY input_id
