-- Users whose jobs were held in another way: limits of one user, joint releases, begin times, and starts after own ends.
CREATE OR REPLACE VIEW releases AS
SELECT cluster, pool, period, entity_kind, entity, jobs, evidence, run_id
FROM hold_result
WHERE kind <> 'chain'
ORDER BY cluster, pool, period, entity_kind, entity, evidence;

COMMENT ON VIEW releases IS 'Users whose jobs were held in another way: limits of one user, joint releases, begin times, and starts after own ends.';
COMMENT ON COLUMN releases.cluster IS 'name of the cluster';
COMMENT ON COLUMN releases.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN releases.period IS 'name of the period';
COMMENT ON COLUMN releases.entity_kind IS 'user';
COMMENT ON COLUMN releases.entity IS 'name of the user';
COMMENT ON COLUMN releases.jobs IS 'jobs, or stops of jobs at a limit, that show it';
COMMENT ON COLUMN releases.evidence IS 'what the log shows, in words';
COMMENT ON COLUMN releases.run_id IS 'run that computed the row; see runs';
