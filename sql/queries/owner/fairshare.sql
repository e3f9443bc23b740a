-- A user's own usage and FairShare, as Slurm computes it, from the first to the last day of a period.
-- parameters: cluster VARCHAR, period VARCHAR, user VARCHAR
SELECT
    parent AS account,
    partition,
    min(as_of) AS first_as_of,
    max(as_of) AS last_as_of,
    arg_min(usage, as_of) AS first_usage,
    arg_max(usage, as_of) AS last_usage,
    arg_min(priority, as_of) AS first,
    arg_max(priority, as_of) AS last,
    min(priority) AS lowest,
    min_by(as_of, (priority, as_of)) AS lowest_as_of
FROM fairshare_day JOIN fairshare_entity USING (entity_id)
WHERE
    cluster = $cluster AND period = $period AND entity_kind = 'user' AND entity = $user
    AND (method LIKE '%:fair_tree' OR method LIKE '%:classic')
    AND priority IS NOT NULL
GROUP BY parent, partition
ORDER BY parent, partition
