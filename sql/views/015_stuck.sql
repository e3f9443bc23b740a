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
COMMENT ON COLUMN stuck.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN stuck.job_id IS 'job as the log names it';
COMMENT ON COLUMN stuck.attempt IS '1, 2, …: executions of the job in order';
COMMENT ON COLUMN stuck.tasks IS 'attempts for which the row stands: tasks of an array';
COMMENT ON COLUMN stuck."user" IS 'owner';
COMMENT ON COLUMN stuck.account IS 'account charged; in SWF the group';
COMMENT ON COLUMN stuck.partition IS 'partition (queue)';
COMMENT ON COLUMN stuck.qos IS 'quality of service';
COMMENT ON COLUMN stuck.size IS 'amount of the pool''s counted resource';
COMMENT ON COLUMN stuck.walltime_s IS 'requested walltime; s, NULL: unknown or unlimited';
COMMENT ON COLUMN stuck.state IS 'state in the log';
COMMENT ON COLUMN stuck.reason IS 'reason for pending, if the log gives one';
COMMENT ON COLUMN stuck.arrival_time IS 'when it arrived';
COMMENT ON COLUMN stuck.left_time IS 'when it left the queue without starting; NULL: it still waits';
COMMENT ON COLUMN stuck.waited_s IS 'wait until then, or until the end of the log; s';
COMMENT ON COLUMN stuck.similar_p95_s IS '95th percentile of the waits of similar jobs; s';
COMMENT ON COLUMN stuck.similar_jobs IS 'number of similar jobs';
COMMENT ON COLUMN stuck.unexplained_share IS 'share of the wait that no known cause explains although enough was free; 0 to 1';
COMMENT ON COLUMN stuck.cause IS 'probable cause: exceeds_capacity, or the cause of most of its wait: outside, held, unavailable, rule, nodes, own, claimed, kept, earlier, later, cycle, unexplained';
COMMENT ON COLUMN stuck.rule IS 'limit or window that delayed it longest; NULL: none';
COMMENT ON COLUMN stuck.held_by IS 'hold that delayed it longest: begin, dependency, hold, array, licence; NULL: none';
COMMENT ON COLUMN stuck.run_id IS 'run that computed the row; see runs';
