-- The resource-seconds that jobs of a pool used in a span.
-- parameters: cluster VARCHAR, pool VARCHAR, from_time BIGINT, to_time BIGINT
SELECT
    coalesce(
        sum(
            size
            * (least(coalesce(end_time, $to_time), $to_time) - greatest(start_time, $from_time))
        ),
        0
    )::DOUBLE AS used
FROM all_results
WHERE cluster = $cluster AND pool = $pool AND schedule = 'observed' AND start_time < $to_time
    AND coalesce(end_time, $to_time) > $from_time
