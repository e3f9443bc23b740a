-- Limits and windows in force, with their evidence and the waiting that they caused.
CREATE OR REPLACE VIEW rules AS
SELECT
    cluster, pool, period, rule, name, kind, scope, level, source, valid_from, valid_to,
    starts, breaks, stops, waiting_s, free_s, run_id
FROM rule_result
ORDER BY cluster, pool, period, rule;

COMMENT ON VIEW rules IS 'Limits and windows in force, with their evidence and the waiting that they caused.';
COMMENT ON COLUMN rules.cluster IS 'name of the cluster';
COMMENT ON COLUMN rules.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN rules.period IS 'name of the period';
COMMENT ON COLUMN rules.rule IS 'the rule in words; see the column rule of job_fairness';
COMMENT ON COLUMN rules.name IS 'the rule in words, without its days and its clock';
COMMENT ON COLUMN rules.kind IS 'limit, window, or overlap window (walltimes may not run into its hours)';
COMMENT ON COLUMN rules.scope IS 'the jobs to which it applies; NULL: all';
COMMENT ON COLUMN rules.level IS 'limit: running jobs, or the amount of a resource (memory in bytes), or amount × s of remaining walltime; NULL: a window';
COMMENT ON COLUMN rules.source IS 'configured (config.toml), pbs (the file of qmgr), inferred (from the log) or recorded (the reason that the scheduler gave)';
COMMENT ON COLUMN rules.valid_from IS 'first day on which it applies; NULL: from the beginning';
COMMENT ON COLUMN rules.valid_to IS 'day after the last day on which it applies; NULL: to the end';
COMMENT ON COLUMN rules.starts IS 'starts of jobs to which the rule applied; NULL unless inferred';
COMMENT ON COLUMN rules.breaks IS 'starts among them that exceeded it; NULL unless inferred';
COMMENT ON COLUMN rules.stops IS 'how often jobs that would have fitted waited at it; NULL unless inferred';
COMMENT ON COLUMN rules.waiting_s IS 'waiting that jobs of the period spent under rules, of the jobs that this rule delayed longest; s';
COMMENT ON COLUMN rules.free_s IS 'part of waiting_s in which the jobs would have fitted; s';
COMMENT ON COLUMN rules.run_id IS 'run that computed the row; see runs';
