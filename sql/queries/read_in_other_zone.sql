-- The logs of a source whose local times were read in another zone, that zone, and whether they are
-- marked to be read again. Logs with archived records cannot be replaced, so marks are NULL there.
-- parameters: cluster VARCHAR, source VARCHAR, zone VARCHAR
SELECT input_id, header ->> 'zone' AS other,
    CASE WHEN input_id NOT IN (SELECT input_id FROM archived_input)
        THEN coalesce(header ->> 'reading' = 'outdated', FALSE) END AS marked
FROM inputs
WHERE cluster = $cluster AND source = $source AND dialect IN ('sacct', 'pbs') AND records > 0
    AND header ->> 'zone' <> $zone
ORDER BY ALL
