-- Users and accounts that the attempts of a cluster name, together.
-- parameters: cluster VARCHAR, schedule VARCHAR
SELECT DISTINCT "user", account
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule
ORDER BY ALL
