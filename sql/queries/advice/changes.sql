-- The changes tried on a pool in a period, advised ones first, each with its effect on each width and
-- walltime class.
-- parameters: cluster VARCHAR, period VARCHAR, pool VARCHAR
SELECT
    advice.*, part.dimension AS part_dimension, part.dimension_value AS part,
    part.today_s AS part_today_s, part.attempts AS part_attempts,
    part.difference_s, part.lower_s, part.upper_s, part.outcome AS part_outcome
FROM advice_result AS advice
LEFT JOIN advice_part AS part
    ON part.cluster = advice.cluster AND part.period = advice.period AND part.pool = advice.pool
    AND part.change = advice.change AND part.dimension <> 'all'
WHERE advice.cluster = $cluster AND advice.period = $period AND advice.pool = $pool
ORDER BY place NULLS LAST, advice.change, part.dimension DESC, part.dimension_value
