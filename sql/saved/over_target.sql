-- Users (or accounts) that used more than their target share, on the last known day. Those with
-- fairshare=parent are left out.
-- $kind VARCHAR = user: user or account
-- $factor DOUBLE = 1.0: only above this multiple of the target
-- $cluster VARCHAR = NULL: only this cluster
SELECT
    cluster,
    as_of,
    entity,
    share,
    usage_fraction,
    usage_fraction / share AS times_target,
    rank
FROM fairshare_history
WHERE
    entity_kind = $kind
    AND share > 0
    AND share_of_all IS NOT NULL
    AND usage_fraction > $factor * share
    AND ($cluster IS NULL OR cluster = $cluster)
QUALIFY as_of = max(as_of) OVER (PARTITION BY cluster)
ORDER BY cluster, times_target DESC, entity
