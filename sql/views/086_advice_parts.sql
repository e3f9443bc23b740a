-- Effect of each change in the view advice on the mean wait of all jobs, and of each width and walltime class; of advised changes also of the users who gain and lose most.
CREATE OR REPLACE VIEW advice_parts AS
SELECT
    cluster, pool, period, change, dimension, dimension_value, attempts, users,
    today_s, changed_s, difference_s, lower_s, upper_s, outcome, run_id
FROM advice_part;

COMMENT ON VIEW advice_parts IS 'Effect of each change in the view advice on the mean wait of all jobs, and of each width and walltime class; of advised changes also of the users who gain and lose most.';
COMMENT ON COLUMN advice_parts.cluster IS 'name of the cluster';
COMMENT ON COLUMN advice_parts.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN advice_parts.period IS 'name of the period';
COMMENT ON COLUMN advice_parts.change IS 'the change, as options of fairaudit whatif; see advice';
COMMENT ON COLUMN advice_parts.dimension IS 'all, width_class, walltime_class (requested before the change) or user';
COMMENT ON COLUMN advice_parts.dimension_value IS 'the class: of widths in the pool''s counted resource, of walltimes in hours; the user';
COMMENT ON COLUMN advice_parts.attempts IS 'attempts that were compared';
COMMENT ON COLUMN advice_parts.users IS 'their users';
COMMENT ON COLUMN advice_parts.today_s IS 'their mean wait in a replay of today''s policy; s';
COMMENT ON COLUMN advice_parts.changed_s IS 'the same after the change; s';
COMMENT ON COLUMN advice_parts.difference_s IS 'changed_s − today_s; s, negative: they wait less';
COMMENT ON COLUMN advice_parts.lower_s IS 'lower end of its 95 % interval; s, NULL: too few users';
COMMENT ON COLUMN advice_parts.upper_s IS 'its upper end; s';
COMMENT ON COLUMN advice_parts.outcome IS 'gains, loses, unclear or same';
COMMENT ON COLUMN advice_parts.run_id IS 'run that computed the row; see runs';
