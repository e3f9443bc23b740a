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
COMMENT ON COLUMN restatements.metric IS 'what is measured';
COMMENT ON COLUMN restatements.dimension IS 'as in summary';
COMMENT ON COLUMN restatements.dimension_value IS 'value of the dimension';
COMMENT ON COLUMN restatements.old_value IS 'earlier figure';
COMMENT ON COLUMN restatements.new_value IS 'new figure';
COMMENT ON COLUMN restatements.because IS 'reason: logs with added or removed records, or changed settings';
COMMENT ON COLUMN restatements.old_run_id IS 'run of the old figure';
COMMENT ON COLUMN restatements.run_id IS 'run of the new figure';
