-- Occupancy of each resource by users, or accounts, within a period, in resource-seconds. All beyond
-- the "shown" with the highest occupancy of any of "resources" are added up (place beyond "shown"). Unused resources have no row. "share" is the target at the end of the
-- period.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR, kind VARCHAR, resources VARCHAR[], from_time BIGINT, to_time BIGINT, shown BIGINT
-- archive: from_time, to_time
WITH instants AS (
    -- the end of the period, or of its known part when it was computed
    SELECT max(as_of) AS now
    FROM fairshare_day JOIN fairshare_entity USING (entity_id)
    WHERE cluster = $cluster AND period = $period
),
held AS (
    SELECT
        CASE $kind WHEN 'user' THEN "user" ELSE account END AS entity,
        least(coalesce(end_time, now), now, $to_time) - greatest(start_time, $from_time) AS seconds,
        cpus, mem_bytes, gpus, nodes
    FROM all_results, instants
    WHERE cluster = $cluster AND schedule = $schedule AND start_time IS NOT NULL
        AND start_time < $to_time AND coalesce(end_time, now) > $from_time
        AND (end_time IS NULL OR end_time > $from_time)
),
targets AS (
    SELECT entity, sum(share_of_all::DECIMAL(20, 18))::DOUBLE AS share
    FROM fairshare_day JOIN fairshare_entity USING (entity_id)
    WHERE cluster = $cluster AND period = $period AND entity_kind = $kind
        AND as_of = (SELECT now FROM instants)
    GROUP BY entity
),
summed AS (
    SELECT
        entity,
        -- Whole numbers, so that sums do not depend on the order.
        sum(seconds::HUGEINT * cpus) AS cpus,
        sum(seconds::HUGEINT * mem_bytes) AS mem_bytes,
        sum(seconds::HUGEINT * gpus) AS gpus,
        sum(seconds::HUGEINT * nodes) AS nodes
    FROM held
    WHERE seconds > 0
    GROUP BY entity
),
long AS (
    UNPIVOT summed ON cpus, mem_bytes, gpus, nodes INTO NAME resource VALUE occupied
),
used AS (
    SELECT *, sum(occupied) OVER (PARTITION BY resource) AS total
    FROM long
    WHERE occupied > 0 AND list_contains($resources, resource)
),
ranked AS (
    SELECT
        entity,
        row_number() OVER (ORDER BY max(part) DESC, entity NULLS LAST) AS number
    FROM (SELECT entity, occupied::DOUBLE / total::DOUBLE AS part FROM used)
    GROUP BY entity
)
SELECT
    least(number, $shown + 1) AS place,
    min(used.entity) FILTER (number <= $shown) AS entity,
    (SELECT greatest(max(number) - $shown, 0) FROM ranked) AS others,
    min(share) FILTER (number <= $shown) AS share,
    resource,
    sum(occupied)::DOUBLE / any_value(total)::DOUBLE AS part
FROM used
JOIN ranked ON ranked.entity IS NOT DISTINCT FROM used.entity
LEFT JOIN targets ON targets.entity = used.entity
GROUP BY ALL
ORDER BY place, resource
