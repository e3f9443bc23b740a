-- The number of a source's logs whose local times were read in another zone than the cluster's, and
-- such a zone; no row if there are none. Zones of mapped tables are their own.
-- parameters: cluster VARCHAR, source VARCHAR, zone VARCHAR
SELECT count(*) AS logs, min(header -> 'entries' ->> 'zone') AS other
FROM inputs
WHERE cluster = $cluster AND source = $source
    AND (header -> 'entries' ->> 'table') IS NULL
    AND (header -> 'entries' ->> 'zone') <> $zone
HAVING count(*) > 0
