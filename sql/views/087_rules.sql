-- Limits and windows in force, with their evidence and the waiting that they caused.
CREATE OR REPLACE VIEW rules AS
SELECT
    cluster, pool, period, rule, name, kind, scope, per, level, unit, source, valid_from, valid_to,
    starts, breaks, stops, waiting_s, free_s, run_id
FROM rule_result
ORDER BY cluster, pool, period, rule;

COMMENT ON VIEW rules IS 'Limits and windows in force, with their evidence and the waiting that they caused.';
COMMENT ON COLUMN rules.cluster IS 'name of the cluster';
COMMENT ON COLUMN rules.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN rules.period IS 'name of the period';
COMMENT ON COLUMN rules.rule IS 'the rule in words, as in the column rule of job_fairness';
COMMENT ON COLUMN rules.name IS 'short name of the rule, without its days and hours';
COMMENT ON COLUMN rules.kind IS 'kind of the rule: limit, window (closed hours), or overlap window (walltimes may not reach into its hours)';
COMMENT ON COLUMN rules.scope IS 'jobs to which the rule applies; NULL: all jobs';
COMMENT ON COLUMN rules.per IS 'entities that a limit counts separately: user, account, qos, partition or job; NULL: all jobs to which it applies together, and for windows';
COMMENT ON COLUMN rules.level IS 'level of a limit, in the unit of the column unit; NULL for windows';
COMMENT ON COLUMN rules.unit IS 'unit of level: jobs (running), cpus, nodes, gpus (a type: gpus:a100), mem_bytes; cpus_s and the like: amount × s of remaining walltime; NULL for windows';
COMMENT ON COLUMN rules.source IS 'where the rule comes from: configured (config.toml), pbs (the file of qmgr), inferred (from the log) or recorded (the reason that the scheduler gave)';
COMMENT ON COLUMN rules.valid_from IS 'first day on which the rule applies; NULL: since the log begins';
COMMENT ON COLUMN rules.valid_to IS 'day after the last day on which the rule applies; NULL: until the log ends';
COMMENT ON COLUMN rules.starts IS 'number of starts of jobs to which the rule applied; NULL unless inferred';
COMMENT ON COLUMN rules.breaks IS 'number of starts that exceeded the rule; NULL unless inferred';
COMMENT ON COLUMN rules.stops IS 'number of times at which jobs waited at the rule although enough was free; NULL unless inferred';
COMMENT ON COLUMN rules.waiting_s IS 'waiting with the cause rule, of the jobs that this rule delayed longest; s';
COMMENT ON COLUMN rules.free_s IS 'part of waiting_s in which enough was free; s';
COMMENT ON COLUMN rules.run_id IS 'run that computed the row; see runs';
