-- One figure of a period per row, overall (dimension all) or for one value of a dimension.
CREATE OR REPLACE VIEW summary AS
SELECT
    cluster,
    pool,
    schedule,
    period,
    metric,
    dimension,
    dimension_value,
    value,
    lower,
    upper,
    unit,
    attempts,
    run_id
FROM summary_result;

COMMENT ON VIEW summary IS 'One figure of a period per row, overall (dimension all) or for one value of a dimension.';
COMMENT ON COLUMN summary.cluster IS 'name of the cluster';
COMMENT ON COLUMN summary.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN summary.schedule IS 'observed, or the name of a simulated schedule';
COMMENT ON COLUMN summary.period IS 'name of the period';
COMMENT ON COLUMN summary.metric IS 'what is measured; docs/metrics.md';
COMMENT ON COLUMN summary.dimension IS 'what the figure is of: all, account, width_class, hour_of_week, user, day, resource, partition, qos, fst_status, entity_kind';
COMMENT ON COLUMN summary.dimension_value IS 'value of the dimension';
COMMENT ON COLUMN summary.value IS 'the figure, in unit';
COMMENT ON COLUMN summary.lower IS 'lower end of its 95 % interval, where one is defined';
COMMENT ON COLUMN summary.upper IS 'upper end of its 95 % interval';
COMMENT ON COLUMN summary.unit IS 'unit of value, lower and upper';
COMMENT ON COLUMN summary.attempts IS 'attempts behind the figure';
COMMENT ON COLUMN summary.run_id IS 'run that computed the row; see runs';
