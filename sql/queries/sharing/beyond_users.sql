-- Users whose jobs were allocated materially more CPU time than they requested, most first.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN, least DOUBLE
-- archive: from_time, to_time
WITH reasons AS (
    SELECT
        pool, "user" AS name, beyond_request AS reason,
        sum(cpus * occupancy_s) AS cpu_s,
        sum(beyond_work::DECIMAL(38, 6)) AS beyond_s,
        sum(charge::DECIMAL(38, 6)) AS charge,
        sum(beyond_charge::DECIMAL(38, 6)) AS beyond_charge
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended'
        AND beyond_work IS NOT NULL
        AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
    GROUP BY ALL
)
SELECT
    pool, name, sum(cpu_s)::DOUBLE AS allocated, sum(beyond_s)::DOUBLE AS beyond,
    (sum(beyond_charge) / nullif(sum(charge), 0))::DOUBLE AS charge_share,
    arg_max(reason, (beyond_s, reason)) FILTER (reason IS NOT NULL) AS reason
FROM reasons
GROUP BY pool, name
HAVING sum(beyond_s) >= $least * sum(cpu_s) AND sum(beyond_s) > 0
ORDER BY pool, beyond DESC, name NULLS LAST
