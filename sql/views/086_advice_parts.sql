-- Effect of each change in the view advice on the mean wait of all jobs, and of each width and walltime class; of recommended changes also of the users who gain and lose most.
CREATE OR REPLACE VIEW advice_parts AS
SELECT
    cluster, pool, period, change, dimension, dimension_value, attempts, users,
    today_s, changed_s, difference_s, lower_s, upper_s, outcome, run_id
FROM advice_part;

COMMENT ON VIEW advice_parts IS 'Effect of each change in the view advice on the mean wait of all jobs, and of each width and walltime class; of recommended changes also of the users who gain and lose most.';
COMMENT ON COLUMN advice_parts.cluster IS 'name of the cluster';
COMMENT ON COLUMN advice_parts.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN advice_parts.period IS 'name of the period';
COMMENT ON COLUMN advice_parts.change IS 'the change as options of fairaudit whatif; see the view advice';
COMMENT ON COLUMN advice_parts.dimension IS 'property that divides attempts: all, width_class, walltime_class (requested before the change) or user';
COMMENT ON COLUMN advice_parts.dimension_value IS 'value of the dimension: width class in the pool''s counted resource, walltime class in hours, or name of the user';
COMMENT ON COLUMN advice_parts.attempts IS 'number of attempts that were compared';
COMMENT ON COLUMN advice_parts.users IS 'number of users of these attempts';
COMMENT ON COLUMN advice_parts.today_s IS 'mean wait of these attempts in a replay of today''s policy; s';
COMMENT ON COLUMN advice_parts.changed_s IS 'mean wait of these attempts in a replay of the changed policy; s';
COMMENT ON COLUMN advice_parts.difference_s IS 'changed_s − today_s; s; negative: these attempts wait less';
COMMENT ON COLUMN advice_parts.lower_s IS 'lower end of the 95 % interval of difference_s; s; NULL: too few users';
COMMENT ON COLUMN advice_parts.upper_s IS 'upper end of the 95 % interval of difference_s; s; NULL: too few users';
COMMENT ON COLUMN advice_parts.outcome IS 'effect of the change on these attempts: gains, loses, unclear or same';
COMMENT ON COLUMN advice_parts.run_id IS 'run that computed the row; see runs';
