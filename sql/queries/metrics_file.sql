-- The figures of each cluster's latest reported period for monitors: name, labels, value.
-- parameters: causes VARCHAR[]
WITH latest AS (
    SELECT cluster, period, from_time, to_time
    FROM run
    WHERE stage = 'report'
    QUALIFY row_number() OVER (
        PARTITION BY cluster ORDER BY to_time DESC NULLS LAST, from_time, period
    ) = 1
),
waits AS (
    SELECT
        job.cluster, job.pool, job.partition, job.qos, job.gpu_types,
        count(*)::DOUBLE AS jobs,
        quantile_disc(job.wait_s, [0.5, 0.9]) AS waits
    FROM job_result AS job JOIN latest USING (cluster)
    WHERE job.schedule = 'observed' AND job.standing = 'ended' AND job.wait_s IS NOT NULL
        AND coalesce(job.end_time >= latest.from_time, true)
        AND coalesce(job.end_time < latest.to_time, true)
    GROUP BY ALL
),
labelled AS (
    SELECT
        MAP {
            'cluster': cluster, 'pool': pool, 'partition': coalesce(partition, ''),
            'qos': coalesce(qos, ''),
            'gpu_type': coalesce(regexp_replace(gpu_types, ':[0-9]+', '', 'g'), '')
        } AS labels,
        jobs, waits
    FROM waits
)
SELECT 'fairaudit_period_end_timestamp_seconds' AS name, MAP {'cluster': cluster} AS labels,
    to_time::DOUBLE AS value
FROM latest
WHERE to_time IS NOT NULL
UNION ALL
SELECT 'fairaudit_newest_record_timestamp_seconds', MAP {'cluster': cluster},
    max(greatest(submit_time, start_time, end_time))::DOUBLE
FROM records
WHERE NOT superseded
GROUP BY cluster
UNION ALL
SELECT 'fairaudit_ended_jobs', labels, jobs FROM labelled
UNION ALL
SELECT 'fairaudit_wait_seconds', map_concat(labels, MAP {'quantile': '0.5'}), waits[1] FROM labelled
UNION ALL
SELECT 'fairaudit_wait_seconds', map_concat(labels, MAP {'quantile': '0.9'}), waits[2] FROM labelled
UNION ALL
SELECT 'fairaudit_wait_share', MAP {'cluster': cluster, 'pool': pool, 'cause': cause}, value
FROM (
    SELECT cluster, pool, value, regexp_extract(metric, '^cause_(.*)_share$', 1) AS cause
    FROM summary_result JOIN latest USING (cluster, period)
    WHERE schedule = 'observed' AND dimension = 'all' AND value IS NOT NULL
)
WHERE list_contains($causes::VARCHAR[], cause)
UNION ALL
SELECT 'fairaudit_verdict', MAP {'cluster': cluster, 'pool': pool, 'verdict': verdict}, 1
FROM verdict_result JOIN latest USING (cluster, period)
ORDER BY name, labels::VARCHAR
