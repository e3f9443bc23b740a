-- How often later arrivals delayed each width class, and by how much.
-- $tolerance_s BIGINT = 60: seconds by which a start may be late without counting as delayed
-- $cluster VARCHAR = NULL: only this cluster
SELECT
    cluster,
    pool,
    width_class,
    count(*) AS attempts,
    count(miss_delivered_s) AS with_fst,
    count(*) FILTER (WHERE miss_delivered_s > $tolerance_s) AS missed_delivered,
    avg(miss_delivered_s) AS mean_miss_delivered_s,
    avg(miss_cautious_s) AS mean_miss_cautious_s,
    avg(wait_s) AS mean_wait_s
FROM job_fairness
WHERE
    schedule = 'observed'
    AND end_time IS NOT NULL
    AND start_time IS NOT NULL
    AND ($cluster IS NULL OR cluster = $cluster)
GROUP BY ALL
ORDER BY cluster, pool, min(size), width_class
