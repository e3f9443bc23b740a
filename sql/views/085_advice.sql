-- Small changes of a pool's policy, replayed on the period's log, the advised ones first. Both replays
-- begin with the same state; neither is the observed schedule.
CREATE OR REPLACE VIEW advice AS
SELECT
    cluster, pool, period, place, title, change, outcome,
    dimension, dimension_value, observed_s, today_s, changed_s, gain_s, gain_lower_s, gain_upper_s,
    saved_s, attempts, users, gaining_users, losing_users,
    never_start, run_id
FROM advice_result
ORDER BY cluster, pool, period, place NULLS LAST, change;

COMMENT ON VIEW advice IS 'Small changes of a pool''s policy, replayed on the period''s log, the advised ones first. They are compared with a replay of today''s policy, not with the observed schedule.';
COMMENT ON COLUMN advice.cluster IS 'name of the cluster';
COMMENT ON COLUMN advice.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN advice.period IS 'name of the period';
COMMENT ON COLUMN advice.place IS '1, 2, …: rank among the advised changes; NULL: not advised';
COMMENT ON COLUMN advice.title IS 'the change in words';
COMMENT ON COLUMN advice.change IS 'the change, as options of fairaudit whatif';
COMMENT ON COLUMN advice.outcome IS 'supported (significantly shorter waits), unsupported, outweighed (some jobs gain, but the total wait grows), never_starts (some jobs would never start), not_reproduced (the replay of today misses the observed mean wait by more than a quarter, of all jobs or of width classes with half of all waiting), not_agreeing (the policy agrees with less than 65 % of the observed starts), not_tried (the search time was used up)';
COMMENT ON COLUMN advice.dimension IS 'jobs whose mean wait decides: all or width_class; NULL: not tried';
COMMENT ON COLUMN advice.dimension_value IS 'the width class, in the pool''s counted resource';
COMMENT ON COLUMN advice.observed_s IS 'their mean wait in the log; s';
COMMENT ON COLUMN advice.today_s IS 'their mean wait in a replay of today''s policy; s';
COMMENT ON COLUMN advice.changed_s IS 'the same after the change; s';
COMMENT ON COLUMN advice.gain_s IS 'today_s − changed_s; s, negative: they wait longer';
COMMENT ON COLUMN advice.gain_lower_s IS 'lower end of its 95 % interval, corrected for the number of changes tried; s';
COMMENT ON COLUMN advice.gain_upper_s IS 'its upper end; s';
COMMENT ON COLUMN advice.saved_s IS 'reduction of the total wait of all attempts; s, negative: increase';
COMMENT ON COLUMN advice.attempts IS 'attempts of the pool that were compared';
COMMENT ON COLUMN advice.users IS 'their users';
COMMENT ON COLUMN advice.gaining_users IS 'users who would wait significantly less (resampled by days)';
COMMENT ON COLUMN advice.losing_users IS 'users who would wait significantly longer (resampled by days)';
COMMENT ON COLUMN advice.never_start IS 'attempts that start in the replay of today''s policy and never after the change; NULL: not tried';
COMMENT ON COLUMN advice.run_id IS 'run that computed the row; see runs';
