-- Decayed usage of a period by user and account: the part of all that each had as of the last day,
-- and its mean over all days (before its first attempt it had none). Given are those with the most,
-- those furthest from their target, and in "left_out" how many are not given.
-- parameters: cluster VARCHAR, period VARCHAR, rows BIGINT
WITH own AS (
    SELECT method, entity_kind, entity, as_of, share, usage_fraction, rank
    FROM fairshare_result
    WHERE cluster = $cluster AND period = $period
),
spanned AS (
    SELECT method, max(as_of) AS last_as_of, count(DISTINCT as_of) AS days
    FROM own
    GROUP BY method
),
summed AS (
    SELECT
        method, entity_kind, entity, last_as_of, days,
        max(share) AS share,
        coalesce(max(usage_fraction) FILTER (as_of = last_as_of), 0) AS now,
        -- Decimals, so that the sum does not depend on the order of rows.
        sum(usage_fraction::DECIMAL(20, 18))::DOUBLE / days AS mean,
        max(rank) FILTER (as_of = last_as_of) AS rank
    FROM own JOIN spanned USING (method)
    GROUP BY method, entity_kind, entity, last_as_of, days
),
placed AS (
    SELECT
        *,
        count(entity) OVER kind AS named,
        count(share) OVER kind AS targets,
        count(*) OVER kind AS entities,
        row_number() OVER (kind ORDER BY mean DESC, now DESC, entity NULLS LAST) AS place,
        row_number() OVER (kind ORDER BY abs(mean - share) DESC NULLS LAST, entity) AS away,
        row_number() OVER (kind ORDER BY mean - share DESC NULLS LAST, entity) AS from_above,
        row_number() OVER (kind ORDER BY mean - share NULLS LAST, entity) AS from_below
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
    method, entity_kind, last_as_of, days, named, targets,
    entities - count(*) OVER (PARTITION BY method, entity_kind) AS left_out,
    above, below, entity, share, now, mean, rank
FROM given
ORDER BY method, entity_kind, place
