-- The published figures about everybody in blocks of weeks that were over at an instant (epoch s).
-- parameters: cluster VARCHAR, until BIGINT
SELECT pool, from_time, to_time, width, walltime, metric, value
FROM published_block
WHERE cluster = $cluster AND to_time <= $until
ORDER BY ALL
