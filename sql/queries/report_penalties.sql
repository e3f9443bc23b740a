-- Parts of all usage within a period under each penalty, of those whose part differs most between
-- them; "shift" is the greatest difference from the part by "base".
-- parameters: cluster VARCHAR, period VARCHAR, base VARCHAR, rows BIGINT
WITH own AS (
    SELECT entity_kind, entity, penalty, usage_fraction AS part
    FROM penalty_result
    WHERE cluster = $cluster AND period = $period
),
known AS (
    SELECT DISTINCT penalty FROM own
),
everybody AS (
    SELECT DISTINCT entity_kind, entity FROM own
),
filled AS (
    SELECT everybody.entity_kind, everybody.entity, known.penalty, coalesce(own.part, 0) AS part
    FROM everybody
    CROSS JOIN known
    LEFT JOIN own ON own.entity_kind = everybody.entity_kind AND own.penalty = known.penalty
        AND own.entity IS NOT DISTINCT FROM everybody.entity
),
shifted AS (
    SELECT
        filled.entity_kind, filled.entity, filled.penalty, filled.part,
        max(abs(filled.part - base.part)) OVER (PARTITION BY filled.entity_kind, filled.entity)
            AS shift
    FROM filled
    JOIN filled AS base ON base.penalty = $base AND base.entity_kind = filled.entity_kind
        AND base.entity IS NOT DISTINCT FROM filled.entity
),
placed AS (
    SELECT
        *,
        dense_rank() OVER (PARTITION BY entity_kind ORDER BY shift DESC, entity NULLS LAST) AS place
    FROM shifted
)
SELECT
    entity_kind, entity, penalty, part, shift,
    (SELECT count(*) FROM everybody WHERE everybody.entity_kind = placed.entity_kind) AS entities
FROM placed
WHERE place <= $rows
ORDER BY entity_kind, place, penalty
