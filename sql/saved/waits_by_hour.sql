-- Users with the longest waits, by hour of arrival in the cluster's zone.
-- $user VARCHAR = NULL: only this user
-- $cluster VARCHAR = NULL: only this cluster
-- $top BIGINT = 3: maximum number of users per hour
WITH waits AS (
    SELECT
        job.cluster,
        hour(timezone(site.zone, job.arrival_time)) AS hour,
        job."user",
        count(*) AS attempts,
        sum(job.wait_s) AS wait_s,
        quantile_disc(job.wait_s, 0.5) AS median_wait_s,
        max(job.wait_s) AS longest_wait_s
    FROM job_fairness AS job
    INNER JOIN clusters AS site ON job.cluster = site.cluster
    WHERE
        job.schedule = 'observed'
        AND job.wait_s IS NOT NULL
        AND ($user IS NULL OR job."user" = $user)
        AND ($cluster IS NULL OR job.cluster = $cluster)
    GROUP BY ALL
)

SELECT *
FROM waits
QUALIFY row_number() OVER (PARTITION BY cluster, hour ORDER BY wait_s DESC, "user") <= $top
ORDER BY cluster, hour, wait_s DESC, "user"
