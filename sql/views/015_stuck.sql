-- Attempts that still wait, or left the queue without starting, after more than 95 % of similar jobs waited.
CREATE OR REPLACE VIEW stuck AS
SELECT
    stuck.cluster,
    stuck.pool,
    stuck.job_id,
    stuck.attempt,
    coalesce(tasks, 1) AS tasks,
    "user",
    account,
    partition,
    qos,
    size,
    walltime_s,
    state,
    reason,
    to_timestamp(arrival_time) AS arrival_time,
    to_timestamp(end_time) AS left_time,
    waited_s,
    stuck.similar_p95_s,
    similar_jobs,
    cause_unexplained_s / nullif(waited_s, 0) AS unexplained_share,
    cause,
    rule,
    held_by,
    run_id
FROM stuck_result AS stuck
JOIN all_results AS job
    ON job.cluster = stuck.cluster AND job.pool = stuck.pool AND job.schedule = 'observed'
    AND job.job_id = stuck.job_id AND job.attempt = stuck.attempt;

COMMENT ON VIEW stuck IS 'Attempts that still wait, or left the queue without starting, after more than 95 % of similar jobs waited.';
COMMENT ON COLUMN stuck.cluster IS 'name of the cluster';
COMMENT ON COLUMN stuck.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN stuck.job_id IS 'id of the job in the log';
COMMENT ON COLUMN stuck.attempt IS 'number of this execution of the job, from 1';
COMMENT ON COLUMN stuck.tasks IS 'number of attempts that the row stands for: tasks of one array; 1 for all other attempts';
COMMENT ON COLUMN stuck."user" IS 'name of the user; NULL where the log does not give it';
COMMENT ON COLUMN stuck.account IS 'account that is charged; in SWF logs the group; NULL where the log does not give it';
COMMENT ON COLUMN stuck.partition IS 'partition (queue) of the job; NULL where the log does not give it';
COMMENT ON COLUMN stuck.qos IS 'quality of service (QOS) of the job; NULL where the log does not give it';
COMMENT ON COLUMN stuck.size IS 'amount of the pool''s counted resource (cpus, nodes or gpus), allocated, else requested';
COMMENT ON COLUMN stuck.walltime_s IS 'requested walltime; s; NULL where it is unknown or unlimited';
COMMENT ON COLUMN stuck.state IS 'state of the attempt in the log; NULL where the log does not give it';
COMMENT ON COLUMN stuck.reason IS 'last reason for pending in the log; NULL where the log does not give it';
COMMENT ON COLUMN stuck.arrival_time IS 'when the job arrived in the queue';
COMMENT ON COLUMN stuck.left_time IS 'when the attempt left the queue without starting; NULL while it waits';
COMMENT ON COLUMN stuck.waited_s IS 'time from arrival_time to left_time, or to the end of the log; s';
COMMENT ON COLUMN stuck.similar_p95_s IS '95th percentile of the waits of similar jobs; s';
COMMENT ON COLUMN stuck.similar_jobs IS 'number of similar jobs behind similar_p95_s';
COMMENT ON COLUMN stuck.unexplained_share IS 'share of the wait in which enough was free and the log does not say why the job waited; 0 to 1';
COMMENT ON COLUMN stuck.cause IS 'probable cause of the wait: exceeds_capacity, or the cause of most of it: outside, held, unavailable, rule, nodes, own, claimed, kept, earlier, later, cycle, unexplained';
COMMENT ON COLUMN stuck.rule IS 'limit or closed hours that delayed it longest; see the view rules; NULL where none delayed it';
COMMENT ON COLUMN stuck.held_by IS 'kind of the hold that delayed it longest: begin, dependency, hold, array, licence, dependency_inferred, own_limit_inferred; NULL where none delayed it';
COMMENT ON COLUMN stuck.run_id IS 'run that computed the row; see runs';
