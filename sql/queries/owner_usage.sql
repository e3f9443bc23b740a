-- Decayed usage of one user or account against its target, by each way of reckoning it: its part of all
-- in the mean over the days that report_usage counts, and as of the last of them.
-- parameters: cluster VARCHAR, period VARCHAR, kind VARCHAR, name VARCHAR
WITH named AS (
    SELECT entity_id, method, entity_kind, entity, parent, partition
    FROM fairshare_entity
    WHERE cluster = $cluster AND period = $period
),
begun AS (
    SELECT method, coalesce(min(as_of) FILTER (usage > 0), min(as_of)) AS first_as_of
    FROM fairshare_day JOIN named USING (entity_id)
    GROUP BY method
),
spanned AS (
    SELECT method, first_as_of, max(as_of) AS last_as_of, count(DISTINCT as_of) AS days
    FROM fairshare_day JOIN named USING (entity_id) JOIN begun USING (method)
    WHERE as_of >= begun.first_as_of
    GROUP BY method, first_as_of
)
SELECT
    method, parent, partition,
    max(share_of_all) AS share,
    -- Decimals, so that the sum does not depend on the order of rows.
    sum(coalesce(usage_of_all, 0)::DECIMAL(20, 18))::DOUBLE / max(days) AS mean,
    coalesce(max(usage_of_all) FILTER (as_of = last_as_of), 0) AS now,
    max(days) AS days
FROM fairshare_day JOIN named USING (entity_id) JOIN spanned USING (method)
WHERE as_of >= first_as_of AND entity_kind = $kind AND entity = $name
GROUP BY method, parent, partition
HAVING max(share_of_all) IS NOT NULL
ORDER BY method, parent NULLS FIRST, partition NULLS FIRST
