-- How a file of evidence looked when it was read.
-- parameters: cluster VARCHAR, kind VARCHAR, path VARCHAR
SELECT size, modified_ns FROM evidence_seen WHERE cluster = $cluster AND kind = $kind AND path = $path
