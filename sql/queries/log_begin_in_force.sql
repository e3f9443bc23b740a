-- The instant at which a cluster's log begins, as its latest figures were computed, epoch s; NULL
-- without figures.
-- parameters: cluster VARCHAR
SELECT arg_max(value, run.to_time)::BIGINT AS log_begin
FROM fidelity_result JOIN run USING (cluster, period)
WHERE cluster = $cluster AND metric = 'log_begin' AND stage = 'compute'
