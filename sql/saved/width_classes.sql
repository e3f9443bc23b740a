-- How often each width class missed its strict and its relaxed fair start time.
-- $tolerance_s BIGINT = 60: seconds by which a start may be late without counting as a miss
-- $cluster VARCHAR = NULL: only this cluster
SELECT
    cluster,
    pool,
    width_class,
    count(*) AS attempts,
    count(miss_strict_s) AS with_fst,
    count(*) FILTER (WHERE miss_strict_s > $tolerance_s) AS missed_strict,
    count(*) FILTER (WHERE miss_relaxed_s > $tolerance_s) AS missed_relaxed,
    avg(miss_strict_s) AS mean_miss_strict_s,
    avg(miss_relaxed_s) AS mean_miss_relaxed_s,
    avg(wait_s) AS mean_wait_s
FROM job_fairness
WHERE
    schedule = 'observed'
    AND end_time IS NOT NULL
    AND start_time IS NOT NULL
    AND ($cluster IS NULL OR cluster = $cluster)
GROUP BY ALL
ORDER BY cluster, pool, min(size), width_class
