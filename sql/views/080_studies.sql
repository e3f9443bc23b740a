-- Results of the papers' studies on logs, one row per figure; empty until 'fairaudit experiment' adds some.
CREATE OR REPLACE VIEW studies AS
SELECT
    study,
    log,
    pool,
    setting,
    metric,
    dimension,
    dimension_value,
    value,
    lower,
    upper,
    unit,
    attempts
FROM study_result;

COMMENT ON VIEW studies IS 'Results of the papers'' studies on logs, one row per figure; empty until ''fairaudit experiment'' adds some.';
COMMENT ON COLUMN studies.study IS 'name of the study, such as grid';
COMMENT ON COLUMN studies.log IS 'name of the cluster whose logs were studied';
COMMENT ON COLUMN studies.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN studies.setting IS 'setting that was studied, such as a load and a policy';
COMMENT ON COLUMN studies.metric IS 'name of the measure';
COMMENT ON COLUMN studies.dimension IS 'property that divides attempts, such as width_class; all: undivided';
COMMENT ON COLUMN studies.dimension_value IS 'value of the dimension; NULL with dimension all';
COMMENT ON COLUMN studies.value IS 'value of the figure, in unit; NULL where it is undefined';
COMMENT ON COLUMN studies.lower IS 'lower end of the 95 % interval of value, in unit; NULL without an interval';
COMMENT ON COLUMN studies.upper IS 'upper end of the 95 % interval of value, in unit; NULL without an interval';
COMMENT ON COLUMN studies.unit IS 'unit of value, lower and upper';
COMMENT ON COLUMN studies.attempts IS 'number of attempts behind the figure; NULL where it is not a figure of attempts';
