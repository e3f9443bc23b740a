-- Work lost to preemption and requeueing, by user and day.
CREATE OR REPLACE VIEW lost_work AS
SELECT
    job.cluster, job.pool, CAST(timezone(zone, to_timestamp(end_time)) AS DATE) AS day,
    job."user", account, count(*) AS attempts, sum(lost_work::DECIMAL(38, 6))::DOUBLE AS lost_work
FROM all_results AS job
JOIN clusters ON clusters.cluster = job.cluster
WHERE schedule = 'observed' AND lost_work > 0 AND end_time IS NOT NULL
GROUP BY ALL
ORDER BY ALL;

COMMENT ON VIEW lost_work IS 'Work lost to preemption and requeueing, by user and day: an upper bound, since the log does not show checkpoints.';
COMMENT ON COLUMN lost_work.cluster IS 'name of the cluster';
COMMENT ON COLUMN lost_work.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN lost_work.day IS 'day on which the attempts ended, in the zone of the cluster';
COMMENT ON COLUMN lost_work."user" IS 'user; NULL: not in the log';
COMMENT ON COLUMN lost_work.account IS 'account charged; in SWF the group; NULL: not in the log';
COMMENT ON COLUMN lost_work.attempts IS 'attempts that were preempted or requeued';
COMMENT ON COLUMN lost_work.lost_work IS 'size × occupancy of these attempts; resource·s';
