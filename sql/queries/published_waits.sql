-- Waits of one user or account by cause, for published blocks of weeks that had ended at an instant
-- (epoch s), of one definition.
-- parameters: cluster VARCHAR, until BIGINT, definition BIGINT, kind VARCHAR, name VARCHAR
SELECT pool, to_time, part, wait_s
FROM published_wait
WHERE cluster = $cluster AND to_time <= $until AND definition = $definition
    AND entity_kind = $kind AND entity = $name
ORDER BY ALL
