-- Fair start times and modelled starts of the observed schedule, with the bases they were computed on.
-- parameters: cluster VARCHAR
SELECT pool, cluster, job_id, attempt, fst_strict, fst_relaxed, fst_status, fst_basis, start_modelled,
    overtaken_own_s, forward_basis
FROM job_result
WHERE cluster = $cluster AND schedule = 'observed' AND fst_basis IS NOT NULL
ORDER BY pool, job_id, attempt
