-- The logs of a cluster that were refused as a whole, and since when.
-- parameters: cluster VARCHAR
SELECT file, reason, found_at
FROM set_aside
WHERE cluster = $cluster AND code <> 'empty'
ORDER BY file, reason, path
