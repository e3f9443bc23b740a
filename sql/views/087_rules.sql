-- Limits and windows that the account of waits assumes, with the evidence for inferred ones.
CREATE OR REPLACE VIEW rules AS
SELECT
    cluster, pool, period, rule, kind, source, valid_from, valid_to,
    starts, breaks, breaks_by_chance, gain, run_id
FROM rule_result
ORDER BY cluster, pool, period, rule;

COMMENT ON VIEW rules IS 'Limits and windows that the account of waits assumes, with the evidence for inferred ones.';
COMMENT ON COLUMN rules.cluster IS 'name of the cluster';
COMMENT ON COLUMN rules.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN rules.period IS 'name of the period';
COMMENT ON COLUMN rules.rule IS 'the rule in words; see the column rule of job_fairness';
COMMENT ON COLUMN rules.kind IS 'limit, window, or overlap window (walltimes may not run into its hours)';
COMMENT ON COLUMN rules.source IS 'configured (config.toml or files of the scheduler) or inferred (from the log)';
COMMENT ON COLUMN rules.valid_from IS 'first day on which it applies; NULL: from the beginning';
COMMENT ON COLUMN rules.valid_to IS 'day after the last day on which it applies; NULL: to the end';
COMMENT ON COLUMN rules.starts IS 'starts of jobs to which the rule applied; NULL unless inferred';
COMMENT ON COLUMN rules.breaks IS 'starts among them that broke it; NULL unless inferred';
COMMENT ON COLUMN rules.breaks_by_chance IS 'breaks expected from neighbouring jobs to which the rule does not apply; NULL unless inferred';
COMMENT ON COLUMN rules.gain IS 'improvement of the model''s forecast of starts, in nats per attempt; NULL: not measured';
COMMENT ON COLUMN rules.run_id IS 'run that computed the row; see runs';
