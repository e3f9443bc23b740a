-- Fair start times of the observed schedule under the modelled policy, with the bases on which they
-- were computed.
-- parameters: cluster VARCHAR
SELECT pool, cluster, job_id, attempt, fst_strict, fst_relaxed, fst_status, fst_basis
FROM job_result
WHERE cluster = $cluster AND schedule = 'observed' AND fst_basis IS NOT NULL
ORDER BY pool, job_id, attempt
