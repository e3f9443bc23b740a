-- Usage and fairshare of a user at the end of each day, and their changes since the day before.
-- $user VARCHAR: name of the user
-- $since DATE = 1970-01-01: first day
-- $cluster VARCHAR = NULL: only this cluster
SELECT
    cluster,
    as_of,
    method,
    parent AS account,
    partition,
    usage / 3600 AS usage_hours,
    (usage - lag(usage) OVER days) / 3600 AS usage_change_hours,
    share,
    usage_fraction,
    level_fs,
    priority,
    priority - lag(priority) OVER days AS priority_change,
    rank
FROM fairshare_history
WHERE
    entity_kind = 'user'
    AND entity = $user
    AND ($cluster IS NULL OR cluster = $cluster)
WINDOW days AS (PARTITION BY cluster, method, parent, partition ORDER BY as_of)
QUALIFY as_of >= $since
ORDER BY cluster, method, account, partition, as_of
