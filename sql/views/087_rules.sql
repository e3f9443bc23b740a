-- Limits and windows that the account of waits takes as in force, with the evidence of inferred ones.
CREATE OR REPLACE VIEW rules AS
SELECT
    cluster, pool, period, rule, kind, source, valid_from, valid_to,
    starts, breaks, breaks_by_chance, gain, run_id
FROM rule_result
ORDER BY cluster, pool, period, rule;

COMMENT ON VIEW rules IS 'Limits and windows that the account of waits takes as in force, with the evidence of inferred ones.';
COMMENT ON COLUMN rules.cluster IS 'name of the cluster';
COMMENT ON COLUMN rules.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN rules.period IS 'name of the period';
COMMENT ON COLUMN rules.rule IS 'the rule in words; see the column rule of job_fairness';
COMMENT ON COLUMN rules.kind IS 'limit, window, or overlap window (walltimes may not run into its hours)';
COMMENT ON COLUMN rules.source IS 'configured (config.toml or files of the scheduler) or inferred (from the log)';
COMMENT ON COLUMN rules.valid_from IS 'first day on which it is in force; NULL: from the beginning';
COMMENT ON COLUMN rules.valid_to IS 'day after the last one; NULL: to the end';
COMMENT ON COLUMN rules.starts IS 'starts of jobs that the rule is about while it was in force; NULL unless inferred';
COMMENT ON COLUMN rules.breaks IS 'starts among them that break it; NULL unless inferred';
COMMENT ON COLUMN rules.breaks_by_chance IS 'number of breaks expected of neighbouring jobs that the rule is not about; NULL unless inferred';
COMMENT ON COLUMN rules.gain IS 'how much better the model foresees starts with it, in nats per attempt; NULL where not measured';
COMMENT ON COLUMN rules.run_id IS 'run that computed the row; see runs';
