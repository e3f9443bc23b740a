-- Small changes of a pool's policy, replayed on the log of the period; recommended changes come first. Both
-- replays begin with the same state; neither is the observed schedule.
CREATE OR REPLACE VIEW advice AS
SELECT
    cluster, pool, period, place, title, change, outcome,
    dimension, dimension_value, observed_s, today_s, changed_s, gain_s, gain_lower_s, gain_upper_s,
    saved_s, attempts, users, gaining_users, losing_users,
    never_start, run_id
FROM advice_result
ORDER BY cluster, pool, period, place NULLS LAST, change;

COMMENT ON VIEW advice IS 'Small changes of a pool''s policy, replayed on the log of the period; recommended changes come first. They are compared with a replay of today''s policy, not with the observed schedule.';
COMMENT ON COLUMN advice.cluster IS 'name of the cluster';
COMMENT ON COLUMN advice.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN advice.period IS 'name of the period';
COMMENT ON COLUMN advice.place IS 'rank among the recommended changes, from 1; NULL: not recommended';
COMMENT ON COLUMN advice.title IS 'the change in words';
COMMENT ON COLUMN advice.change IS 'the change as options of fairaudit whatif';
COMMENT ON COLUMN advice.outcome IS 'outcome of the replay: supported (significantly shorter waits), unsupported, outweighed (some jobs gain, but the total wait grows), never_starts (some jobs would never start), not_reproduced (the replay of today''s policy misses the observed mean wait by more than a quarter, of all jobs or of width classes with half of all waiting), not_agreeing (the policy agrees with less than 65 % of the observed starts), few_users (fewer than 10 users had jobs), few_days (jobs arrived on fewer than 20 days), short_waits (jobs waited less than a minute on average), not_tried (the search time was used up)';
COMMENT ON COLUMN advice.dimension IS 'jobs whose mean wait decides the outcome: all or width_class; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.dimension_value IS 'width class whose mean wait decides the outcome, in the pool''s counted resource; NULL: all jobs';
COMMENT ON COLUMN advice.observed_s IS 'mean wait of the deciding jobs in the log; s; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.today_s IS 'mean wait of the deciding jobs in a replay of today''s policy; s; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.changed_s IS 'mean wait of the deciding jobs in a replay of the changed policy; s; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.gain_s IS 'today_s − changed_s; s; negative: the jobs wait longer; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.gain_lower_s IS 'lower end of the 95 % interval of gain_s, corrected for the number of changes tried; s; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.gain_upper_s IS 'upper end of the 95 % interval of gain_s, corrected in the same way; s; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.saved_s IS 'reduction of the total wait of all attempts; s; negative: increase; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.attempts IS 'number of attempts of the pool that were compared; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.users IS 'number of users of the attempts that were compared; NULL: not stated, see outcome';
COMMENT ON COLUMN advice.gaining_users IS 'number of users who would wait significantly less (resampled by days); NULL: not stated, see outcome';
COMMENT ON COLUMN advice.losing_users IS 'number of users who would wait significantly longer (resampled by days); NULL: not stated, see outcome';
COMMENT ON COLUMN advice.never_start IS 'number of attempts that start in the replay of today''s policy, but never after the change; NULL: not tried';
COMMENT ON COLUMN advice.run_id IS 'run that computed the row; see runs';
