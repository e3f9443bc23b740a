-- The attempts that ended in a span, as page one describes them.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN
-- archive: from_time, to_time
SELECT
    pool, "user", account, partition, qos, reason IS NOT NULL AS has_reason,
    CASE WHEN attempt = 1 THEN reason END AS reason, priority,
    node_list IS NOT NULL AS has_nodes, coalesce(size, 0) AS size, coalesce(gpus, 0) AS gpus,
    arrival_time, start_time, end_time, wait_s, occupancy_s, walltime_s, held_by, rule AS main_rule,
    similar_wait_s, cause_rule_free_s, COLUMNS('^cause_nodes_.*_s$'),
    cause_outside_s, cause_held_s, cause_unavailable_s, cause_rule_s, cause_nodes_s, cause_own_s,
    cause_claimed_s, cause_kept_s, cause_earlier_s, cause_later_s, cause_cycle_s,
    cause_unexplained_s,
    submit_time, try_cast(split_part(job_id, '_', 1) AS BIGINT) AS number,
    try_cast(split_part(job_id, '_', 2) AS BIGINT) AS task, job_id, attempt
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended' AND wait_s IS NOT NULL
    AND cause_unexplained_s IS NOT NULL
    AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
