-- The nodes of each pool, by which fairaudit decides whether enough was free for a job.
CREATE OR REPLACE VIEW nodes AS
SELECT cluster, pool, node, cpus, mem_bytes, gpus, gpu_type, features, source
FROM node
ORDER BY cluster, pool, node;

COMMENT ON VIEW nodes IS 'The nodes of each pool, by which fairaudit decides whether enough was free for a job. A pool has no nodes here if its logs do not say on which nodes jobs ran.';
COMMENT ON COLUMN nodes.cluster IS 'name of the cluster';
COMMENT ON COLUMN nodes.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN nodes.node IS 'name of the node';
COMMENT ON COLUMN nodes.cpus IS 'number of CPUs that jobs can use; NULL: unknown';
COMMENT ON COLUMN nodes.mem_bytes IS 'memory that jobs can use; bytes; NULL: unknown';
COMMENT ON COLUMN nodes.gpus IS 'number of GPUs of all types; NULL: unknown';
COMMENT ON COLUMN nodes.gpu_type IS 'type of its GPUs, several types separated by commas; NULL: unknown';
COMMENT ON COLUMN nodes.features IS 'features of the node, which constraints of jobs name; NULL: unknown';
COMMENT ON COLUMN nodes.source IS 'where these amounts come from: scontrol, sinfo, pbsnodes or config.toml, or inferred (the most that ran on the node at one time)';
