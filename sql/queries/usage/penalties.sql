-- Fractions of all usage within a period under each penalty, of the entities whose fractions differ
-- most. "shift" is the greatest difference from the fraction under "base". "moved" is the fraction
-- of all usage that a penalty charges to other entities than "base" does.
-- parameters: cluster VARCHAR, period VARCHAR, base VARCHAR, rows BIGINT
WITH own AS (
    SELECT entity_kind, entity, penalty, usage_fraction AS part
    FROM penalty_result
    WHERE cluster = $cluster AND period = $period
),
shifted AS (
    SELECT
        own.*,
        own.part - base.part AS shift,
        max(abs(own.part - base.part)) OVER (PARTITION BY own.entity_kind, own.entity) AS furthest,
        -- Decimals, so that the sum does not depend on the order of rows.
        sum(abs(own.part - base.part)::DECIMAL(20, 18))
            OVER (PARTITION BY own.entity_kind, own.penalty)::DOUBLE / 2 AS moved
    FROM own
    JOIN own AS base ON base.penalty = $base AND base.entity_kind = own.entity_kind
        AND base.entity IS NOT DISTINCT FROM own.entity
),
placed AS (
    SELECT
        *,
        dense_rank() OVER (PARTITION BY entity_kind ORDER BY furthest DESC, entity NULLS LAST) AS place
    FROM shifted
)
SELECT
    entity_kind, entity, penalty, part, shift, moved,
    max(place) OVER (PARTITION BY entity_kind) AS entities, place
FROM placed
QUALIFY place <= $rows
ORDER BY entity_kind, place, penalty
