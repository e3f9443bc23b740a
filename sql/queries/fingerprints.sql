-- Fingerprints of the keys with which a cluster's names became pseudonyms; NULL: plain names.
-- parameters: cluster VARCHAR
SELECT DISTINCT header ->> 'people' AS fingerprint FROM inputs WHERE cluster = $cluster ORDER BY ALL
