-- By which keys names of a cluster became pseudonyms on their way in; NULL: they did not.
-- parameters: cluster VARCHAR
SELECT DISTINCT header ->> 'people' AS fingerprint FROM inputs WHERE cluster = $cluster ORDER BY ALL
