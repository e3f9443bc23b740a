-- Decayed usage of a period by user and account: the fraction of the total on the last day, and its
-- mean over all days from the first day with usage. With targets there are rows for days before the
-- log begins, which have no usage. (Before its first attempt an entity has no usage.) Targets are
-- fractions of everything, also in a share tree. The rows are those with the highest usage and those
-- furthest from their target; "left_out" is the number of the others. "without" counts those
-- without a target if others have one, and "by_without" is their fraction of all usage;
-- "unused" is the sum of the targets of those without usage.
-- parameters: cluster VARCHAR, period VARCHAR, rows BIGINT
WITH named AS (
    SELECT entity_id, method, entity_kind, entity, parent, partition
    FROM fairshare_entity
    WHERE cluster = $cluster AND period = $period
),
instants AS (
    SELECT method, as_of, max(usage) > 0 AS used
    FROM fairshare_day JOIN named USING (entity_id)
    GROUP BY method, as_of
),
begun AS (
    SELECT method, coalesce(min(as_of) FILTER (used), min(as_of)) AS first_as_of
    FROM instants
    GROUP BY method
),
spanned AS (
    SELECT
        method, min(as_of) AS first_as_of, max(as_of) AS last_as_of, count(*) AS days
    FROM instants JOIN begun USING (method)
    WHERE as_of >= begun.first_as_of
    GROUP BY method
),
own AS (
    SELECT
        entity_id,
        max(share_of_all) AS share,
        coalesce(max(usage_of_all) FILTER (as_of = last_as_of), 0) AS now,
        -- Decimals, so that the sum does not depend on the order of rows.
        sum(coalesce(usage_of_all, 0)::DECIMAL(20, 18)) AS fraction,
        max(priority) FILTER (as_of = last_as_of) AS priority,
        max(rank) FILTER (as_of = last_as_of) AS rank,
        max(usage) AS most
    FROM fairshare_day JOIN named USING (entity_id) JOIN spanned USING (method)
    WHERE as_of >= first_as_of
    GROUP BY entity_id
),
summed AS (
    SELECT
        method, entity_kind, entity, parent, partition, first_as_of, last_as_of, days, share, now,
        fraction::DOUBLE / days AS mean, priority, rank, most
    FROM own JOIN named USING (entity_id) JOIN spanned USING (method)
),
placed AS (
    SELECT
        *,
        count(entity) OVER kind AS named,
        count(share) OVER kind AS targets,
        count(DISTINCT share) OVER kind AS different,
        count(*) OVER kind AS entities,
        count(CASE WHEN rank IS NULL AND mean > 0 THEN entity END) OVER kind AS without,
        sum(CASE WHEN rank IS NULL THEN mean::DECIMAL(20, 18) END) OVER kind AS by_without,
        max(most) OVER kind AS greatest,
        sum(CASE WHEN mean = 0 THEN share::DECIMAL(20, 18) END) OVER kind AS unused,
        sum(share::DECIMAL(20, 18)) OVER kind AS promised,
        row_number() OVER (kind ORDER BY mean DESC, now DESC, entity NULLS LAST, parent, partition)
            AS place,
        row_number() OVER (kind ORDER BY abs(mean - share) DESC NULLS LAST, entity, parent, partition)
            AS away,
        row_number() OVER (kind ORDER BY mean - share DESC NULLS LAST, entity, parent, partition)
            AS from_above,
        row_number() OVER (kind ORDER BY mean - share NULLS LAST, entity, parent, partition)
            AS from_below
    FROM summed
    WINDOW kind AS (PARTITION BY method, entity_kind)
),
given AS (
    SELECT
        *,
        share IS NOT NULL AND from_above = 1 AND mean > share AS above,
        share IS NOT NULL AND from_below = 1 AND mean < share AS below
    FROM placed
    WHERE place <= $rows OR (share IS NOT NULL AND (away <= $rows OR 1 IN (from_above, from_below)))
)
SELECT
    method, entity_kind, first_as_of, last_as_of, days, named, targets, different, without,
    coalesce(by_without, 0)::DOUBLE AS by_without, greatest,
    coalesce(unused::DOUBLE / nullif(promised::DOUBLE, 0), 0) AS unused,
    entities - count(*) OVER (PARTITION BY method, entity_kind) AS left_out,
    above, below, entity, parent, partition, share, now, mean, priority, rank
FROM given
ORDER BY method, entity_kind, place
