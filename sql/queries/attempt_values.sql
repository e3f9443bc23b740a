-- Of each column of a cluster's attempts: the least and the greatest value, and how many there are.
-- parameters: cluster VARCHAR
SELECT
    count(*) AS rows,
    min(COLUMNS(* EXCLUDE (superseded, input_id))) AS "least \0",
    max(COLUMNS(* EXCLUDE (superseded, input_id))) AS "greatest \0",
    count(COLUMNS(* EXCLUDE (superseded, input_id))) AS "known \0"
FROM records
WHERE cluster = $cluster AND NOT superseded
