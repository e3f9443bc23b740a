-- How well a replay under the modelled policy reproduces the observed starts; empty until fair start times are computed.
CREATE OR REPLACE VIEW fidelity AS
SELECT
    cluster,
    pool,
    period,
    "order",
    backfill,
    metric,
    value,
    unit,
    run_id
FROM fidelity_result;

COMMENT ON VIEW fidelity IS 'How well a replay under the modelled policy reproduces the observed starts; empty until fair start times are computed.';
COMMENT ON COLUMN fidelity.cluster IS 'name of the cluster';
COMMENT ON COLUMN fidelity.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN fidelity.period IS 'name of the period';
COMMENT ON COLUMN fidelity."order" IS 'queue order of the model';
COMMENT ON COLUMN fidelity.backfill IS 'backfilling of the model';
COMMENT ON COLUMN fidelity.metric IS 'what is compared';
COMMENT ON COLUMN fidelity.value IS 'the figure, in unit';
COMMENT ON COLUMN fidelity.unit IS 'unit of value';
COMMENT ON COLUMN fidelity.run_id IS 'run that computed the row; see runs';
