-- Published figures that later data changed, largest relative change first.
-- $period VARCHAR = NULL: only this period
-- $metric VARCHAR = NULL: only this measure
-- $top BIGINT = 50: maximum number of figures
SELECT
    cluster,
    period,
    metric,
    dimension,
    dimension_value,
    old_value,
    new_value,
    (new_value - old_value) / nullif(abs(old_value), 0) AS relative_change,
    because
FROM restatements
WHERE
    ($period IS NULL OR period = $period)
    AND ($metric IS NULL OR metric = $metric)
ORDER BY
    abs(relative_change) DESC NULLS LAST, cluster, period, metric, dimension, dimension_value
LIMIT $top
