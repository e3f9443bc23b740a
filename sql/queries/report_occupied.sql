-- Parts of each resource that users, or accounts, occupied within a period, day by day: resource-
-- seconds, split exactly at "edges" (ascending). Beyond the "shown" who occupied most of any of
-- "resources", all others together (place beyond "shown"). No row for a resource that nobody had.
-- "share" is the target at the end of the period.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR, kind VARCHAR, resources VARCHAR[], edges BIGINT[], shown BIGINT
-- archive: edges, edges
WITH instants AS (
    -- the end of the period, or of what was known of it when it was computed
    SELECT max(as_of) AS now
    FROM fairshare_day JOIN fairshare_entity USING (entity_id)
    WHERE cluster = $cluster AND period = $period
),
held AS (
    SELECT
        CASE $kind WHEN 'user' THEN "user" ELSE account END AS entity,
        start_time, least(coalesce(end_time, now), now) AS end_time,
        cpus, mem_bytes, gpus, nodes
    FROM all_results, instants
    WHERE cluster = $cluster AND schedule = $schedule AND start_time IS NOT NULL
        AND start_time < $edges[-1] AND coalesce(end_time, now) > $edges[1]
        AND (end_time IS NULL OR end_time > $edges[1])
),
spans AS (
    SELECT unnest($edges[:-2])::BIGINT AS first, unnest($edges[2:])::BIGINT AS last
),
targets AS (
    SELECT entity, sum(share_of_all) AS share
    FROM fairshare_day JOIN fairshare_entity USING (entity_id)
    WHERE cluster = $cluster AND period = $period AND entity_kind = $kind
        AND as_of = (SELECT now FROM instants)
    GROUP BY entity
),
cut AS (
    SELECT
        entity, first,
        least(end_time, last) - greatest(start_time, first) AS seconds,
        cpus, mem_bytes, gpus, nodes
    FROM held JOIN spans ON start_time < last AND end_time > first
),
summed AS (
    SELECT
        entity, first,
        -- Whole numbers, so that sums depend on no order.
        sum(seconds::HUGEINT * cpus) AS cpus,
        sum(seconds::HUGEINT * mem_bytes) AS mem_bytes,
        sum(seconds::HUGEINT * gpus) AS gpus,
        sum(seconds::HUGEINT * nodes) AS nodes
    FROM cut
    GROUP BY entity, first
),
long AS (
    UNPIVOT summed ON cpus, mem_bytes, gpus, nodes INTO NAME resource VALUE occupied
),
used AS (
    SELECT
        *,
        sum(occupied) OVER (PARTITION BY resource) AS total,
        sum(occupied) OVER (PARTITION BY resource, first) AS of_all
    FROM long
    WHERE occupied > 0 AND list_contains($resources, resource)
),
ranked AS (
    SELECT
        entity,
        row_number() OVER (ORDER BY max(part) DESC, entity NULLS LAST) AS number
    FROM (
        SELECT entity, resource, sum(occupied)::DOUBLE / any_value(total)::DOUBLE AS part
        FROM used
        GROUP BY entity, resource
    )
    GROUP BY entity
)
SELECT
    least(number, $shown + 1) AS place,
    min(used.entity) FILTER (number <= $shown) AS entity,
    (SELECT greatest(max(number) - $shown, 0) FROM ranked) AS others,
    min(share) FILTER (number <= $shown) AS share,
    resource, first,
    sum(occupied)::DOUBLE AS occupied,
    any_value(total)::DOUBLE AS total,
    any_value(of_all)::DOUBLE AS of_all
FROM used
JOIN ranked ON ranked.entity IS NOT DISTINCT FROM used.entity
LEFT JOIN targets ON targets.entity = used.entity
GROUP BY ALL
ORDER BY place, resource, first
