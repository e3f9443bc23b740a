-- The days on which users and accounts with a target were above or below it, and the longest run of
-- such days: their fraction of all usage was more than target / balance, or less than
-- target * balance. Days without any usage are left out. The entities with the most such days come first.
-- parameters: cluster VARCHAR, period VARCHAR, method VARCHAR, kind VARCHAR, balance DOUBLE, rows BIGINT
WITH own AS (
    SELECT
        entity, parent, partition, as_of, share_of_all AS share, coalesce(usage_of_all, 0) AS fraction,
        max(usage) OVER (PARTITION BY as_of) AS greatest
    FROM fairshare_day JOIN fairshare_entity USING (entity_id)
    WHERE cluster = $cluster AND period = $period AND method = $method AND entity_kind = $kind
),
judged AS (
    SELECT
        entity, parent, partition, as_of, share,
        CASE
            WHEN fraction > share / $balance THEN 'above'
            WHEN fraction < share * $balance THEN 'below'
            ELSE 'near'
        END AS side
    FROM own
    WHERE share IS NOT NULL AND greatest > 0
),
numbered AS (
    SELECT
        *,
        row_number() OVER of_entity - row_number() OVER of_side AS stretch
    FROM judged
    WINDOW
        of_entity AS (PARTITION BY entity, parent, partition ORDER BY as_of),
        of_side AS (PARTITION BY entity, parent, partition, side ORDER BY as_of)
),
stretches AS (
    SELECT
        entity, parent, partition, max(share) AS share, side, count(*) AS days,
        min(as_of) AS first_as_of, max(as_of) AS last_as_of
    FROM numbered
    GROUP BY entity, parent, partition, side, stretch
),
summed AS (
    SELECT
        entity, parent, partition, max(share) AS share, sum(days)::BIGINT AS days,
        coalesce(sum(days) FILTER (side = 'above'), 0)::BIGINT AS above,
        coalesce(sum(days) FILTER (side = 'below'), 0)::BIGINT AS below,
        max({'days': days, 'before': -first_as_of, 'last': last_as_of}) FILTER (side = 'above')
            AS longest_above,
        max({'days': days, 'before': -first_as_of, 'last': last_as_of}) FILTER (side = 'below')
            AS longest_below
    FROM stretches
    GROUP BY entity, parent, partition
),
placed AS (
    SELECT
        *,
        count(*) OVER () AS entities,
        count(CASE WHEN above + below > 0 THEN 1 END) OVER () AS off,
        row_number() OVER (ORDER BY above + below DESC, share DESC, entity, parent, partition) AS place
    FROM summed
)
SELECT
    entities, off, entity, parent, partition, share, days, above, below,
    longest_above.days AS above_days,
    -longest_above.before AS above_first, longest_above.last AS above_last,
    longest_below.days AS below_days,
    -longest_below.before AS below_first, longest_below.last AS below_last
FROM placed
WHERE place <= $rows AND above + below > 0
ORDER BY place
