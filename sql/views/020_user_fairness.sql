-- How each user fared in a period.
CREATE OR REPLACE VIEW user_fairness AS
SELECT
    cluster,
    pool,
    schedule,
    period,
    entity AS "user",
    jobs,
    attempts,
    never_started,
    gave_up_wait_s,
    tuwt_s,
    tusa,
    nuwt,
    miss_strict_s,
    miss_relaxed_s,
    missed_strict,
    missed_relaxed,
    re_unfairness_positive,
    re_unfairness_net,
    run_id
FROM entity_result
WHERE entity_kind = 'user';

COMMENT ON VIEW user_fairness IS 'How each user fared in a period.';
COMMENT ON COLUMN user_fairness.cluster IS 'name of the cluster';
COMMENT ON COLUMN user_fairness.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN user_fairness.schedule IS 'observed, or the name of a simulated schedule';
COMMENT ON COLUMN user_fairness.period IS 'name of the period; all for a one-off audit';
COMMENT ON COLUMN user_fairness."user" IS 'user; NULL where the log names none';
COMMENT ON COLUMN user_fairness.jobs IS 'jobs with an attempt that started and ended in the period';
COMMENT ON COLUMN user_fairness.attempts IS 'attempts that started and ended in the period';
COMMENT ON COLUMN user_fairness.never_started IS 'attempts that left the queue without starting';
COMMENT ON COLUMN user_fairness.gave_up_wait_s IS 'total time those waited; s';
COMMENT ON COLUMN user_fairness.tuwt_s IS 'total wait (TUWT); s';
COMMENT ON COLUMN user_fairness.tusa IS 'total runtime · size (TUSA); resource·s';
COMMENT ON COLUMN user_fairness.nuwt IS 'tuwt_s / tusa; s/(resource·s); NULL where tusa is 0';
COMMENT ON COLUMN user_fairness.miss_strict_s IS 'total miss of the strict fair start time; s; NULL where no attempt has a fair start time that counts';
COMMENT ON COLUMN user_fairness.miss_relaxed_s IS 'total miss of the relaxed fair start time; s; NULL where no attempt has a fair start time that counts';
COMMENT ON COLUMN user_fairness.missed_strict IS 'attempts that missed the strict fair start time by more than metrics.tolerance_s; NULL where no attempt has a fair start time that counts';
COMMENT ON COLUMN user_fairness.missed_relaxed IS 'attempts that missed the relaxed fair start time by more than metrics.tolerance_s; NULL where no attempt has a fair start time that counts';
COMMENT ON COLUMN user_fairness.re_unfairness_positive IS 'sum of max(re_unfairness, 0) over attempts whose size is known; resource·s; NULL where no size is known';
COMMENT ON COLUMN user_fairness.re_unfairness_net IS 'sum of re_unfairness over attempts whose size is known; resource·s; NULL where no size is known';
COMMENT ON COLUMN user_fairness.run_id IS 'run that computed the row; see runs';
