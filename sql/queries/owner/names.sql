-- Pairs of user and account in the attempts of a cluster.
-- parameters: cluster VARCHAR, schedule VARCHAR
SELECT DISTINCT "user", account
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule
ORDER BY ALL
