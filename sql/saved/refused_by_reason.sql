-- Number of refused lines by reason and file, with the first line of each.
-- $cluster VARCHAR = NULL: only this cluster
SELECT
    cluster,
    reason,
    file,
    count(*) AS lines,
    min(line) AS first_line,
    arg_min(text, line) AS first_text,
    count(replayed_at) AS replayed
FROM refused_records
WHERE $cluster IS NULL OR cluster = $cluster
GROUP BY ALL
ORDER BY lines DESC, cluster, reason, file
