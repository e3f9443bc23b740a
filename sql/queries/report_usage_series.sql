-- Parts of all usage over time of the users, or accounts, who used most, and of all others together
-- (place beyond "shown", with their number), from the first day on at whose end anybody had used
-- anything. Beyond "days" days each point is the mean of seven. Of
-- accounts in a share tree those that have no others below them, so that none is counted twice.
-- parameters: cluster VARCHAR, period VARCHAR, method VARCHAR, kind VARCHAR, shown BIGINT, days BIGINT
WITH named AS (
    SELECT entity_id, entity_kind, entity, parent
    FROM fairshare_entity
    WHERE cluster = $cluster AND period = $period AND method = $method
),
begun AS (
    SELECT coalesce(min(as_of) FILTER (usage > 0), min(as_of)) AS first_as_of
    FROM fairshare_day JOIN named USING (entity_id)
),
drawn AS (
    SELECT entity_id, entity
    FROM named
    WHERE entity_kind = $kind
        AND ($kind <> 'account' OR entity IS NULL OR entity NOT IN (
            SELECT parent FROM named WHERE entity_kind = 'account' AND parent IS NOT NULL
        ))
),
own AS NOT MATERIALIZED (
    SELECT
        entity_id, entity, as_of, share_of_all AS share,
        coalesce(usage_of_all, 0)::DECIMAL(20, 18) AS fraction
    FROM fairshare_day JOIN drawn USING (entity_id) JOIN begun ON as_of >= first_as_of
),
instants AS (
    SELECT as_of, row_number() OVER (ORDER BY as_of) - 1 AS number, count(*) OVER () AS instants
    FROM (SELECT DISTINCT as_of FROM own)
),
parts AS (
    SELECT
        as_of, instants > $days AS weekly,
        min(as_of) OVER part AS first_as_of, count(*) OVER part AS length
    FROM instants
    WINDOW part AS (PARTITION BY CASE WHEN instants > $days THEN number // 7 ELSE number END)
),
shares AS (
    SELECT entity, max(share) AS share
    FROM (
        SELECT entity, sum(share) AS share
        FROM own
        WHERE share IS NOT NULL
        GROUP BY as_of, entity
    )
    GROUP BY entity
),
ranked AS (
    SELECT entity, row_number() OVER (ORDER BY sum(fraction) DESC, entity NULLS LAST) AS number
    FROM own
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
summed AS (
    SELECT place, first_as_of, sum(fraction)::DOUBLE AS total
    FROM own
    JOIN parts USING (as_of)
    JOIN (
        SELECT entity_id, place
        FROM drawn JOIN placed ON placed.entity IS NOT DISTINCT FROM drawn.entity
    ) USING (entity_id)
    GROUP BY ALL
)
SELECT
    lines.place, entity, share, others, instant.weekly, instant.first_as_of,
    coalesce(total, 0) / instant.length AS fraction
FROM lines
CROSS JOIN (SELECT DISTINCT first_as_of, weekly, length FROM parts) AS instant
LEFT JOIN summed ON summed.place = lines.place AND summed.first_as_of = instant.first_as_of
ORDER BY lines.place, instant.first_as_of
