-- The logs of a cluster of which nothing was taken though they hold something, and since when.
-- parameters: cluster VARCHAR
SELECT file, reason, found_at
FROM set_aside
WHERE cluster = $cluster AND code <> 'empty'
ORDER BY file, reason, path
