-- How well scheduling rules agree with the observed starts, and how well a replay under the modelled
-- policy reproduces them, by period.
-- $metric VARCHAR = NULL: only this measure
-- $cluster VARCHAR = NULL: only this cluster
SELECT
    cluster,
    pool,
    period,
    metric,
    value,
    unit,
    "order",
    backfill,
    own_peak
FROM fidelity
WHERE
    ($metric IS NULL OR metric = $metric)
    AND ($cluster IS NULL OR cluster = $cluster)
ORDER BY cluster, pool, period, metric, value DESC NULLS LAST, "order", backfill, own_peak
