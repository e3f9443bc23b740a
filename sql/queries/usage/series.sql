-- Fractions of all usage over time, from the first day with usage: of the users or accounts with the
-- highest usage, and of all others together (place beyond "shown", with their number). Beyond "days"
-- days, each point is the mean of seven. In a share tree, only accounts without accounts below them
-- are listed, so that no usage is counted twice.
-- parameters: cluster VARCHAR, period VARCHAR, method VARCHAR, kind VARCHAR, shown BIGINT, days BIGINT
WITH named AS (
    SELECT entity_id, entity_kind, entity, parent
    FROM fairshare_entity
    WHERE cluster = $cluster AND period = $period AND method = $method
),
drawn AS (
    SELECT entity_id, entity
    FROM named
    WHERE entity_kind = $kind
        AND ($kind <> 'account' OR entity IS NULL OR entity NOT IN (
            SELECT parent FROM named WHERE entity_kind = 'account' AND parent IS NOT NULL
        ))
),
known AS (
    SELECT as_of, max(usage) > 0 AS used, bool_or(drawn.entity_id IS NOT NULL) AS drawn
    FROM fairshare_day JOIN named USING (entity_id) LEFT JOIN drawn USING (entity_id)
    GROUP BY as_of
),
begun AS (
    SELECT coalesce(min(as_of) FILTER (used), min(as_of)) AS first_as_of
    FROM known
),
instants AS (
    SELECT as_of, row_number() OVER (ORDER BY as_of) - 1 AS number, count(*) OVER () AS instants
    FROM known JOIN begun ON as_of >= first_as_of
    WHERE drawn
),
parts AS (
    SELECT
        as_of, instants > $days AS weekly,
        min(as_of) OVER part AS first_as_of, count(*) OVER part AS length
    FROM instants
    WINDOW part AS (PARTITION BY CASE WHEN instants > $days THEN number // 7 ELSE number END)
),
-- All days are read once, for the sums that follow.
summed AS (
    SELECT
        entity_id, parts.first_as_of,
        sum(coalesce(usage_of_all, 0)::DECIMAL(20, 18)) AS fraction
    FROM fairshare_day JOIN drawn USING (entity_id) JOIN parts USING (as_of)
    GROUP BY entity_id, parts.first_as_of
),
shares AS (
    SELECT entity, max(share) AS share
    FROM (
        SELECT entity, sum(share_of_all::DECIMAL(20, 18))::DOUBLE AS share
        FROM fairshare_day JOIN drawn USING (entity_id) JOIN parts USING (as_of)
        WHERE share_of_all IS NOT NULL
        GROUP BY as_of, entity
    )
    GROUP BY entity
),
ranked AS (
    SELECT entity, row_number() OVER (ORDER BY sum(fraction) DESC, entity NULLS LAST) AS number
    FROM summed JOIN drawn USING (entity_id)
    GROUP BY entity
),
placed AS (
    SELECT ranked.entity, share, number > $shown AS other, least(number, $shown + 1) AS place
    FROM ranked
    LEFT JOIN shares ON shares.entity IS NOT DISTINCT FROM ranked.entity
),
lines AS (
    SELECT
        place,
        min(entity) FILTER (NOT other) AS entity,
        min(share) FILTER (NOT other) AS share,
        count(*) FILTER (other) AS others
    FROM placed
    GROUP BY place
),
by_line AS (
    SELECT place, first_as_of, sum(fraction)::DOUBLE AS total
    FROM summed
    JOIN drawn USING (entity_id)
    JOIN placed ON placed.entity IS NOT DISTINCT FROM drawn.entity
    GROUP BY ALL
)
SELECT
    lines.place, entity, share, others, instant.weekly, instant.first_as_of,
    coalesce(total, 0) / instant.length AS fraction
FROM lines
CROSS JOIN (SELECT DISTINCT first_as_of, weekly, length FROM parts) AS instant
LEFT JOIN by_line ON by_line.place = lines.place AND by_line.first_as_of = instant.first_as_of
ORDER BY lines.place, instant.first_as_of
