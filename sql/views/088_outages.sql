-- Spans of at least 10 minutes in which nothing ran in a pool, or in a partition that shares no nodes, while a job waited that could have run.
CREATE OR REPLACE VIEW outages AS
SELECT
    cluster, pool, period, to_timestamp(from_time) AS from_time, to_timestamp(to_time) AS to_time,
    waited_s, run_id
FROM outage_result
ORDER BY cluster, pool, period, outage_result.from_time;

COMMENT ON VIEW outages IS 'Spans of at least 10 minutes in which nothing ran in a pool, or in a partition that shares no nodes, although a job waited that it could hold and that no rule forbade.';
COMMENT ON COLUMN outages.cluster IS 'name of the cluster';
COMMENT ON COLUMN outages.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN outages.period IS 'name of the period';
COMMENT ON COLUMN outages.from_time IS 'begin of the outage: when the last job ended';
COMMENT ON COLUMN outages.to_time IS 'end of the outage: when the next job started';
COMMENT ON COLUMN outages.waited_s IS 'part of the outage in which such a job waited; s';
COMMENT ON COLUMN outages.run_id IS 'run that computed the row; see runs';
