-- Job arrays: how many tasks ran at one time, and how many their throttle allowed.
CREATE OR REPLACE VIEW arrays AS
SELECT
    cluster,
    pool,
    regexp_extract(job_id, '^[0-9]+') AS array_id,
    min("user") AS "user",
    count(DISTINCT job_id) AS tasks,
    to_timestamp(min(start_time)) AS first_start,
    to_timestamp(max(end_time)) AS last_end,
    sum(occupancy_s) / nullif(max(end_time) - min(start_time), 0) AS concurrency,
    max(array_throttle) AS throttle,
    round(sum(cause_held_s::DECIMAL(18, 3)) FILTER (held_by = 'array'))::BIGINT AS held_by_throttle_s
FROM all_results
WHERE
    schedule = 'observed'
    AND start_time IS NOT NULL AND end_time IS NOT NULL
    AND regexp_matches(job_id, '^[0-9]+(_|\[)[0-9]+')
GROUP BY cluster, pool, array_id
ORDER BY cluster, pool, first_start, array_id;

COMMENT ON VIEW arrays IS 'Job arrays of which a task has ended: how many tasks ran at one time, and how many their throttle allowed.';
COMMENT ON COLUMN arrays.cluster IS 'name of the cluster';
COMMENT ON COLUMN arrays.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN arrays.array_id IS 'number of the array: the first part of the ids of its tasks';
COMMENT ON COLUMN arrays."user" IS 'name of the user; NULL where the log does not give it';
COMMENT ON COLUMN arrays.tasks IS 'number of its tasks that have ended';
COMMENT ON COLUMN arrays.first_start IS 'when the first of these tasks started';
COMMENT ON COLUMN arrays.last_end IS 'when the last of these tasks ended';
COMMENT ON COLUMN arrays.concurrency IS 'mean number of tasks that ran at one time: total occupancy / (last_end − first_start); tasks';
COMMENT ON COLUMN arrays.throttle IS 'maximum number of tasks that may run at one time; tasks; NULL without a throttle, or where the log does not give it';
COMMENT ON COLUMN arrays.held_by_throttle_s IS 'total wait of its tasks while they were held, of tasks that the throttle held longest; s; NULL where it held none';
