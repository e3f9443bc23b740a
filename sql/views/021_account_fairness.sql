-- How each account fared in a period.
CREATE OR REPLACE VIEW account_fairness AS
SELECT
    cluster,
    pool,
    schedule,
    period,
    entity AS account,
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
    wait_room_s,
    wait_shared_s,
    wait_own_s,
    wait_earlier_s,
    wait_later_s,
    wait_down_s,
    peer_ratio,
    excess_wait_s,
    overtaken_s,
    unmodelled_s,
    run_id
FROM entity_result
WHERE entity_kind = 'account';

COMMENT ON VIEW account_fairness IS 'How each account fared in a period.';
COMMENT ON COLUMN account_fairness.cluster IS 'name of the cluster';
COMMENT ON COLUMN account_fairness.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN account_fairness.schedule IS 'observed, or the name of a simulated schedule';
COMMENT ON COLUMN account_fairness.period IS 'name of the period; all for a one-off audit';
COMMENT ON COLUMN account_fairness.account IS 'account; NULL where the log names none';
COMMENT ON COLUMN account_fairness.jobs IS 'jobs with an attempt that started and ended in the period';
COMMENT ON COLUMN account_fairness.attempts IS 'attempts that started and ended in the period';
COMMENT ON COLUMN account_fairness.never_started IS 'attempts that left the queue without starting';
COMMENT ON COLUMN account_fairness.gave_up_wait_s IS 'total time those waited; s';
COMMENT ON COLUMN account_fairness.tuwt_s IS 'total wait (TUWT); s';
COMMENT ON COLUMN account_fairness.tusa IS 'total runtime · size (TUSA); resource·s';
COMMENT ON COLUMN account_fairness.nuwt IS 'tuwt_s / tusa; s/(resource·s); NULL where tusa is 0';
COMMENT ON COLUMN account_fairness.miss_strict_s IS 'total miss of the strict fair start time; s; NULL where no attempt has a fair start time that counts';
COMMENT ON COLUMN account_fairness.miss_relaxed_s IS 'total miss of the relaxed fair start time; s; NULL where no attempt has a fair start time that counts';
COMMENT ON COLUMN account_fairness.missed_strict IS 'attempts that missed the strict fair start time by more than metrics.tolerance_s; NULL where no attempt has a fair start time that counts';
COMMENT ON COLUMN account_fairness.missed_relaxed IS 'attempts that missed the relaxed fair start time by more than metrics.tolerance_s; NULL where no attempt has a fair start time that counts';
COMMENT ON COLUMN account_fairness.re_unfairness_positive IS 'sum of max(re_unfairness, 0) over attempts whose size is known; resource·s; NULL where no size is known';
COMMENT ON COLUMN account_fairness.re_unfairness_net IS 'sum of re_unfairness over attempts whose size is known; resource·s; NULL where no size is known';
COMMENT ON COLUMN account_fairness.wait_room_s IS 'total of the part of waits in which there was room for it, even after all before it took theirs; s; NULL where no wait was taken apart';
COMMENT ON COLUMN account_fairness.wait_shared_s IS 'total of the part of waits in which there was room for it, but others before it could claim that; s; NULL where no wait was taken apart';
COMMENT ON COLUMN account_fairness.wait_own_s IS 'total of the part of waits in which what it lacked was in use by attempts of its own user; s; NULL where no wait was taken apart';
COMMENT ON COLUMN account_fairness.wait_earlier_s IS 'total of the part of waits in which what it lacked was in use by others that had arrived before it; s; NULL where no wait was taken apart';
COMMENT ON COLUMN account_fairness.wait_later_s IS 'total of the part of waits in which what it lacked was in use by others that arrived after it; s; NULL where no wait was taken apart';
COMMENT ON COLUMN account_fairness.wait_down_s IS 'total of the part of waits in which the pool had less than it asked for; s; NULL where no wait was taken apart';
COMMENT ON COLUMN account_fairness.peer_ratio IS 'total wait / total peer_wait_s of the attempts that have peers; NULL where none has peers or these did not wait';
COMMENT ON COLUMN account_fairness.excess_wait_s IS 'sum of wait − peer_wait_s over the attempts that have peers; s; NULL where none has peers';
COMMENT ON COLUMN account_fairness.overtaken_s IS 'total of what later arrivals cost under the modelled policy; s; NULL where no attempt has a forward start that counts';
COMMENT ON COLUMN account_fairness.unmodelled_s IS 'total of what the modelled policy does not explain; s; NULL where no attempt has a forward start that counts';
COMMENT ON COLUMN account_fairness.run_id IS 'run that computed the row; see runs';
