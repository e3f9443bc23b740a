-- Siblings of a user in the share tree, and of each account above it, by the change of their usage.
-- $user VARCHAR: name of the user
-- $since DATE = 1970-01-01: first day
-- $until DATE = 9999-12-31: last day
-- $cluster VARCHAR = NULL: only this cluster
WITH RECURSIVE history AS (
    SELECT *
    FROM fairshare_history
    WHERE
        as_of >= $since
        AND as_of <= $until
        AND ($cluster IS NULL OR cluster = $cluster)
),
path AS (
    SELECT DISTINCT cluster, method, entity_kind, entity, parent, 1 AS level
    FROM history
    WHERE entity_kind = 'user' AND entity = $user
    UNION
    SELECT above.cluster, above.method, above.entity_kind, above.entity, above.parent, level + 1
    FROM path JOIN history AS above
        ON above.cluster = path.cluster AND above.method = path.method
        AND above.entity_kind = 'account' AND above.entity = path.parent
),
beside AS (
    SELECT
        other.cluster, other.method, path.level, other.parent, other.entity_kind, other.entity,
        other.as_of, (sum(other.usage::DECIMAL(38, 6)) / 3600)::DOUBLE AS hours, min(other.level_fs) AS level_fs
    FROM path JOIN history AS other
        ON other.cluster = path.cluster AND other.method = path.method
        AND other.parent IS NOT DISTINCT FROM path.parent
        -- without a tree, users and accounts do not compete
        AND (path.parent IS NOT NULL OR other.entity_kind = path.entity_kind)
    WHERE other.entity IS NOT NULL
    GROUP BY ALL
)
SELECT
    cluster,
    method,
    level,
    parent AS account,
    entity_kind,
    entity,
    min(as_of) AS since,
    max(as_of) AS until,
    arg_min(hours, as_of) AS usage_before_hours,
    arg_max(hours, as_of) AS usage_hours,
    arg_max(hours, as_of) - arg_min(hours, as_of) AS usage_change_hours,
    arg_min(level_fs, as_of) AS level_fs_before,
    arg_max(level_fs, as_of) AS level_fs
FROM beside
GROUP BY ALL
ORDER BY cluster, method, level, usage_change_hours DESC, entity
