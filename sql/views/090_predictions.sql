-- Predicted starts of attempts, made at their submission or while they were pending.
CREATE OR REPLACE VIEW predictions AS
SELECT
    made.cluster,
    made.pool,
    made.job_id,
    made.attempt,
    to_timestamp(made_at) AS made_at,
    to_timestamp(p10) AS p10,
    to_timestamp(p50) AS p50,
    to_timestamp(p90) AS p90,
    kind,
    contested,
    withheld_because,
    to_timestamp(modelled) AS modelled,
    to_timestamp(recent) AS recent,
    to_timestamp(alike) AS alike,
    to_timestamp(start_time) AS start_time,
    run_id
FROM prediction_result AS made
JOIN all_results AS job
    ON job.cluster = made.cluster AND job.pool = made.pool AND job.schedule = 'observed'
    AND job.job_id = made.job_id AND job.attempt = made.attempt;

COMMENT ON VIEW predictions IS 'Predicted starts of a sample of the submissions, and of what was pending when figures were computed (docs/when.md).';
COMMENT ON COLUMN predictions.cluster IS 'name of the cluster';
COMMENT ON COLUMN predictions.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN predictions.job_id IS 'job as the log names it';
COMMENT ON COLUMN predictions.attempt IS '1, 2, …: executions of the job in order';
COMMENT ON COLUMN predictions.made_at IS 'when it was made: from what was known before';
COMMENT ON COLUMN predictions.p10 IS 'one start in ten should be earlier; NULL: no prediction, or withheld';
COMMENT ON COLUMN predictions.p50 IS 'median of the predicted start; NULL: no prediction, or withheld';
COMMENT ON COLUMN predictions.p90 IS 'one start in ten should be later; NULL: no prediction, or withheld';
COMMENT ON COLUMN predictions.kind IS 'submission, or pending: at the newest record, for what was pending then';
COMMENT ON COLUMN predictions.contested IS 'whether the median is more than 60 s ahead; NULL: no prediction';
COMMENT ON COLUMN predictions.withheld_because IS 'held, unschedulable, never_starts, few_similar, few_decided or miscalibrated; NULL: it was made';
COMMENT ON COLUMN predictions.modelled IS 'start under the modelled policy without later arrivals; NULL: no prediction';
COMMENT ON COLUMN predictions.recent IS 'made_at plus the median of the last 200 known waits; NULL: of pending jobs, or too few';
COMMENT ON COLUMN predictions.alike IS 'made_at plus the median of the last 20 known waits of the same user, width and walltime class; NULL: of pending jobs, or too few';
COMMENT ON COLUMN predictions.start_time IS 'when it started; NULL: not yet, or never';
COMMENT ON COLUMN predictions.run_id IS 'run that computed the row of the attempt; see runs';
