-- A cluster's reports of periods that are over, newest first, and whether their figures differ from
-- those before only because definitions changed with the version of fairaudit.
-- parameters: cluster VARCHAR, now BIGINT
SELECT
    period, from_time, to_time, run_id,
    coalesce((
        SELECT bool_and(regexp_full_match(because, 'version [^;]+ became [^;]+'))
        FROM restatement
        WHERE cluster = $cluster AND period = run.period AND run_id = run.run_id
    ), false) AS redefined
FROM run
WHERE cluster = $cluster AND stage = 'report' AND state = 'done' AND to_time <= $now
ORDER BY to_time DESC, period
