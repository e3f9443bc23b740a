-- How well the modelled policy explains the observed starts, by period.
-- $metric VARCHAR = NULL: only this figure
-- $cluster VARCHAR = NULL: only this cluster
SELECT
    cluster,
    pool,
    period,
    metric,
    value,
    unit,
    "order",
    backfill
FROM fidelity
WHERE
    ($metric IS NULL OR metric = $metric)
    AND ($cluster IS NULL OR cluster = $cluster)
ORDER BY cluster, pool, period, metric
