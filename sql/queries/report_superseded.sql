-- How many summary records give way to the bursts that they sum up.
-- parameters: cluster VARCHAR
SELECT count(*) AS superseded
FROM records
WHERE cluster = $cluster AND superseded
