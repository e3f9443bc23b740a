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

COMMENT ON VIEW predictions IS 'Predicted starts of a sample of submissions, and of the attempts that were pending when figures were computed; see docs/when.md.';
COMMENT ON COLUMN predictions.cluster IS 'name of the cluster';
COMMENT ON COLUMN predictions.pool IS 'name of the pool, a set of partitions that share hardware';
COMMENT ON COLUMN predictions.job_id IS 'id of the job in the log';
COMMENT ON COLUMN predictions.attempt IS 'number of this execution of the job, from 1';
COMMENT ON COLUMN predictions.made_at IS 'instant of the prediction, which uses only what was known before';
COMMENT ON COLUMN predictions.p10 IS '10th percentile of the predicted start: one start in ten should be earlier; NULL: no prediction, or withheld';
COMMENT ON COLUMN predictions.p50 IS 'median of the predicted start; NULL: no prediction, or withheld';
COMMENT ON COLUMN predictions.p90 IS '90th percentile of the predicted start: one start in ten should be later; NULL: no prediction, or withheld';
COMMENT ON COLUMN predictions.kind IS 'kind of the prediction: submission, or pending (for attempts that waited at the newest record)';
COMMENT ON COLUMN predictions.contested IS 'whether the median is more than 60 s after made_at; NULL: no prediction';
COMMENT ON COLUMN predictions.withheld_because IS 'why the prediction is withheld: held, unschedulable, never_starts, few_similar, few_decided or miscalibrated; NULL: not withheld';
COMMENT ON COLUMN predictions.modelled IS 'start under the modelled policy without later arrivals; NULL: no prediction';
COMMENT ON COLUMN predictions.recent IS 'made_at plus the median of the last 200 known waits; NULL for pending attempts, or with too few waits';
COMMENT ON COLUMN predictions.alike IS 'made_at plus the median of the last 20 known waits of the same user, width and walltime class; NULL for pending attempts, or with too few waits';
COMMENT ON COLUMN predictions.start_time IS 'when the attempt started; NULL: not yet, or never';
COMMENT ON COLUMN predictions.run_id IS 'run that computed the row; see runs';
