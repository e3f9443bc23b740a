-- How often the predicted starts of the attempts that ended in a period were right, by pool: at submission or
-- pending, contested or not, of all and by month, width and walltime class; and median errors in s.
-- parameters: cluster VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN, zone VARCHAR, tolerance_s BIGINT
-- archive: from_time, to_time
WITH judged AS (
    SELECT
        made.*, start_time,
        p10 - $tolerance_s > start_time AS early,
        p90 + $tolerance_s < start_time AS late,
        unnest([
            {'dimension': 'all', 'label': ''},
            {
                'dimension': 'month',
                'label': strftime(timezone($zone, to_timestamp(made_at)), '%Y-%m')
            },
            {'dimension': 'width', 'label': coalesce(width_class, 'unknown')},
            {
                'dimension': 'walltime',
                'label': CASE
                    WHEN walltime_s IS NULL THEN 'unknown'
                    WHEN walltime_s <= 3600 THEN '0-1h'
                    WHEN walltime_s <= 14400 THEN '1-4h'
                    WHEN walltime_s <= 43200 THEN '4-12h'
                    WHEN walltime_s <= 86400 THEN '12-24h'
                    ELSE '>24h'
                END
            }
        ], recursive := true)
    FROM prediction_result AS made
    JOIN all_results AS job USING (cluster, pool, job_id, attempt)
    WHERE cluster = $cluster AND schedule = 'observed' AND standing = 'ended'
        AND start_time >= made_at AND contested IS NOT NULL
        AND ($whole OR end_time >= $from_time AND end_time < $to_time)
)
SELECT
    pool, kind, contested, dimension, label,
    count(p10) AS predictions,
    count(*) - count(p10) AS withheld,
    avg((NOT early AND NOT late)::INT) AS right_share,
    avg(early::INT) AS early_share,
    avg(late::INT) AS late_share,
    median(abs(p50 - start_time)) AS error_s,
    median(abs(recent - start_time)) FILTER (p50 IS NOT NULL) AS recent_error_s,
    median(abs(alike - start_time)) FILTER (p50 IS NOT NULL) AS alike_error_s,
    median(abs(modelled - start_time)) FILTER (p50 IS NOT NULL) AS modelled_error_s
FROM judged
GROUP BY ALL
ORDER BY pool, kind DESC, contested DESC, dimension, label
