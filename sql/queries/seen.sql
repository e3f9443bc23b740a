-- The files of a cluster that were read, with their properties at that time.
-- parameters: cluster VARCHAR
SELECT path, size, modified_ns, input_id, reading FROM seen WHERE cluster = $cluster
