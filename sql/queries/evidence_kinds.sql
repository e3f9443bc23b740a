-- The kinds of evidence that a cluster has.
-- parameters: cluster VARCHAR
SELECT DISTINCT kind FROM evidence_record WHERE cluster = $cluster ORDER BY kind
