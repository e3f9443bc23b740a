-- The figures of each cluster's latest reported period for monitors: name, labels, value, and of a
-- histogram the number of jobs of each bucket, not cumulated, by its upper edge (its value is the
-- sum). Accounts only if `accounts`, and none that has the name of a user.
-- parameters: causes VARCHAR[], edges BIGINT[], accounts BOOLEAN
WITH latest AS (
    SELECT cluster, period, from_time, to_time
    FROM run
    WHERE stage = 'report'
    QUALIFY row_number() OVER (
        PARTITION BY cluster ORDER BY to_time DESC NULLS LAST, from_time, period
    ) = 1
),
ended AS (
    SELECT
        job.wait_s, job.account,
        MAP {'cluster': job.cluster, 'pool': job.pool} AS place,
        map_concat(place, MAP {
            'partition': coalesce(job.partition, ''),
            'qos': coalesce(job.qos, ''),
            'gpu_type': coalesce(regexp_replace(job.gpu_types, ':[0-9]+', '', 'g'), '')
        }) AS labels
    FROM job_result AS job JOIN latest USING (cluster)
    WHERE job.schedule = 'observed' AND job.standing = 'ended' AND job.wait_s IS NOT NULL
        AND coalesce(job.end_time >= latest.from_time, true)
        AND coalesce(job.end_time < latest.to_time, true)
),
waits AS (
    SELECT
        labels, '' AS prefix,
        count(*)::DOUBLE AS jobs, sum(wait_s)::DOUBLE AS total,
        quantile_disc(wait_s, [0.5, 0.9]) AS quantiles,
        histogram(wait_s, $edges::BIGINT[]) AS buckets
    FROM ended
    GROUP BY labels
    UNION ALL
    SELECT
        map_concat(place, MAP {'account': account}), 'account_',
        count(*)::DOUBLE, sum(wait_s)::DOUBLE,
        quantile_disc(wait_s, [0.5, 0.9]),
        histogram(wait_s, $edges::BIGINT[])
    FROM ended
    WHERE $accounts::BOOLEAN AND account IS NOT NULL
        AND lower(account) NOT IN (SELECT lower("user") FROM job_result WHERE "user" IS NOT NULL)
    GROUP BY place, account
)
SELECT 'fairaudit_period_end_timestamp_seconds' AS name, MAP {'cluster': cluster} AS labels,
    to_time::DOUBLE AS value, NULL::MAP(BIGINT, UBIGINT) AS buckets
FROM latest
WHERE to_time IS NOT NULL
UNION ALL
SELECT 'fairaudit_newest_record_timestamp_seconds', MAP {'cluster': cluster},
    max(greatest(submit_time, start_time, end_time))::DOUBLE, NULL
FROM records
WHERE NOT superseded
GROUP BY cluster
UNION ALL
SELECT concat('fairaudit_', prefix, 'ended_jobs'), labels, jobs, NULL FROM waits
UNION ALL
SELECT concat('fairaudit_', prefix, 'wait_seconds'),
    map_concat(labels, MAP {'quantile': '0.5'}), quantiles[1], NULL
FROM waits
UNION ALL
SELECT concat('fairaudit_', prefix, 'wait_seconds'),
    map_concat(labels, MAP {'quantile': '0.9'}), quantiles[2], NULL
FROM waits
UNION ALL
SELECT concat('fairaudit_', prefix, 'wait_distribution_seconds'), labels, total, buckets FROM waits
UNION ALL
SELECT 'fairaudit_wait_share', MAP {'cluster': cluster, 'pool': pool, 'cause': cause}, value, NULL
FROM (
    SELECT cluster, pool, value, regexp_extract(metric, '^cause_(.*)_share$', 1) AS cause
    FROM summary_result JOIN latest USING (cluster, period)
    WHERE schedule = 'observed' AND dimension = 'all' AND value IS NOT NULL
)
WHERE list_contains($causes::VARCHAR[], cause)
UNION ALL
SELECT 'fairaudit_verdict', MAP {'cluster': cluster, 'pool': pool, 'verdict': verdict}, 1, NULL
FROM verdict_result JOIN latest USING (cluster, period)
ORDER BY name, labels::VARCHAR
