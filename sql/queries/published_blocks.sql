-- The published figures over all users in blocks of weeks that had ended at an instant (epoch s;
-- NULL: all), of one definition or of all (NULL).
-- parameters: cluster VARCHAR, until BIGINT, definition BIGINT
SELECT pool, from_time, to_time, width, walltime, metric, value
FROM published_block
WHERE cluster = $cluster AND coalesce(to_time <= $until, true)
    AND coalesce(definition = $definition, true)
ORDER BY ALL
