-- The limits and windows that kept the attempts of a period waiting although enough was free.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN
-- archive: from_time, to_time
SELECT pool, rule AS name, sum(cause_rule_free_s::DECIMAL(18, 3))::DOUBLE AS free_s, count(*) AS attempts
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule AND rule IS NOT NULL AND standing = 'ended'
    AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
GROUP BY pool, rule
ORDER BY pool, free_s DESC, name
