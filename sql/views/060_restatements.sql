-- Figures of earlier runs that later data or settings changed.
CREATE OR REPLACE VIEW restatements AS
SELECT
    cluster,
    period,
    metric,
    dimension,
    dimension_value,
    old_value,
    new_value,
    because,
    old_run_id,
    run_id
FROM restatement;

COMMENT ON VIEW restatements IS 'Figures of earlier runs that later data or settings changed.';
COMMENT ON COLUMN restatements.cluster IS 'name of the cluster';
COMMENT ON COLUMN restatements.period IS 'name of the period';
COMMENT ON COLUMN restatements.metric IS 'name of the measure; see docs/metrics.md';
COMMENT ON COLUMN restatements.dimension IS 'property that divides attempts, as in the view summary';
COMMENT ON COLUMN restatements.dimension_value IS 'value of the dimension; NULL with dimension all';
COMMENT ON COLUMN restatements.old_value IS 'figure before the change, in the unit of the measure; NULL where it was undefined';
COMMENT ON COLUMN restatements.new_value IS 'figure after the change, in the unit of the measure; NULL where it is undefined';
COMMENT ON COLUMN restatements.because IS 'reason of the change: logs with added or removed records, or changed settings';
COMMENT ON COLUMN restatements.old_run_id IS 'run that computed old_value';
COMMENT ON COLUMN restatements.run_id IS 'run that computed new_value; see runs';
