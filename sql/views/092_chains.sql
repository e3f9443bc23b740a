-- Users whose jobs start when their previous job ends: dependencies, or scripts.
CREATE OR REPLACE VIEW chains AS
SELECT cluster, pool, period, entity_kind, entity, jobs, evidence, run_id
FROM hold_result
WHERE kind = 'chain'
ORDER BY cluster, pool, period, entity_kind, entity, evidence;

COMMENT ON VIEW chains IS 'Users whose jobs start when their previous job ends: dependencies, or scripts.';
COMMENT ON COLUMN chains.cluster IS 'name of the cluster';
COMMENT ON COLUMN chains.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN chains.period IS 'name of the period';
COMMENT ON COLUMN chains.entity_kind IS 'kind of the entity: user';
COMMENT ON COLUMN chains.entity IS 'name of the user';
COMMENT ON COLUMN chains.jobs IS 'number of jobs that waited until the previous job of the user ended';
COMMENT ON COLUMN chains.evidence IS 'pattern that the log shows, in words';
COMMENT ON COLUMN chains.run_id IS 'run that computed the row; see runs';
