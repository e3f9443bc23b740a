-- Waits and usage of each user, and the metrics of them.
SELECT
    "user" AS entity,
    count(DISTINCT job_id) AS jobs,
    count(*) AS attempts,
    sum(wait_s) AS tuwt_s,
    sum(runtime_s * size) AS tusa,
    CASE WHEN sum(runtime_s * size) > 0 THEN sum(wait_s) / sum(runtime_s * size) END AS nuwt,
    sum(greatest(re_unfairness, 0)) AS re_unfairness_positive
FROM judged
GROUP BY "user"
