-- The three hours of arrival, width classes, partitions and users with most unexplained waiting, in
-- pools where it exceeds "least" of all waiting.
-- parameters: cluster VARCHAR, schedule VARCHAR, period VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN, least DOUBLE
-- archive: from_time, to_time
WITH jobs AS (
    SELECT
        pool, "user", partition, width_class, wait_s,
        (cause_unexplained_s + cause_cycle_s)::DECIMAL(18, 3) AS left_s
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended'
        AND cause_unexplained_s IS NOT NULL
        AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
),
hours AS (
    SELECT
        pool, try_cast(dimension_value AS INTEGER) % 24 AS hour,
        (
            sum(value::DECIMAL(38, 18)) FILTER (metric IN ('cause_unexplained_share', 'cause_cycle_share'))
            * any_value(value * attempts) FILTER (metric = 'wait_mean')
        )::DECIMAL(18, 3) AS left_s
    FROM summary_result
    WHERE cluster = $cluster AND schedule = $schedule AND period = $period
        AND dimension = 'hour_of_week'
    GROUP BY pool, dimension_value
),
parts AS (
    SELECT pool, 'hour' AS kind, hour::VARCHAR AS label, sum(left_s) AS left_s FROM hours GROUP BY ALL
    UNION ALL
    SELECT pool, 'width_class', width_class, sum(left_s) FROM jobs GROUP BY ALL
    UNION ALL
    SELECT pool, 'partition', partition, sum(left_s) FROM jobs GROUP BY ALL
    UNION ALL
    SELECT pool, 'user', "user", sum(left_s) FROM jobs GROUP BY ALL
),
whole AS (
    SELECT pool, sum(left_s) AS all_s FROM jobs GROUP BY pool HAVING all_s > $least * sum(wait_s)
)
SELECT pool, kind, label, (left_s / all_s)::DOUBLE AS part
FROM parts JOIN whole USING (pool)
WHERE label IS NOT NULL AND left_s > 0
QUALIFY row_number() OVER (PARTITION BY pool, kind ORDER BY left_s DESC, label) <= 3
ORDER BY pool, kind, part DESC, label
