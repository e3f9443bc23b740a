-- The logs of a cluster that were set aside, and since when (epoch s).
-- parameters: cluster VARCHAR
SELECT path, found_at FROM set_aside WHERE cluster = $cluster ORDER BY path
