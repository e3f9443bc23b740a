-- Users whose jobs appear to have been held: by a limit of their own, until a joint release, until a begin time, or until another of their jobs ended.
CREATE OR REPLACE VIEW releases AS
SELECT cluster, pool, period, entity_kind, entity, jobs, evidence, run_id
FROM hold_result
WHERE kind <> 'chain'
ORDER BY cluster, pool, period, entity_kind, entity, evidence;

COMMENT ON VIEW releases IS 'Users whose jobs appear to have been held: by a limit of their own, until a joint release, until a begin time, or until another of their jobs ended.';
COMMENT ON COLUMN releases.cluster IS 'name of the cluster';
COMMENT ON COLUMN releases.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN releases.period IS 'name of the period';
COMMENT ON COLUMN releases.entity_kind IS 'kind of the entity: user';
COMMENT ON COLUMN releases.entity IS 'name of the user';
COMMENT ON COLUMN releases.jobs IS 'number of jobs that show the pattern, or of times at which jobs waited at a limit';
COMMENT ON COLUMN releases.evidence IS 'pattern that the log shows, in words';
COMMENT ON COLUMN releases.run_id IS 'run that computed the row; see runs';
