-- The attempts of a period that ran at an unknown time: by pool, also by user and by account, their
-- number, how many of them have a size and a run time, and the sum of size × run time.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN
-- archive: from_time, to_time
SELECT
    pool,
    CASE grouping("user", account) WHEN 1 THEN 'user' WHEN 2 THEN 'account' END AS kind,
    coalesce("user", account) AS name,
    count(*) AS jobs,
    count(occupancy_s * size) AS measured,
    coalesce(sum(occupancy_s::HUGEINT * size), 0)::DOUBLE AS consumed
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule AND standing = 'start_unknown'
    AND ($whole OR (arrival_time >= $from_time AND arrival_time < $to_time))
GROUP BY GROUPING SETS ((pool), (pool, "user"), (pool, account))
ORDER BY pool, kind NULLS FIRST, consumed DESC, name NULLS LAST
