-- The files of a cluster that were taken in, as they looked then.
-- parameters: cluster VARCHAR
SELECT path, size, modified_ns, input_id FROM seen WHERE cluster = $cluster
