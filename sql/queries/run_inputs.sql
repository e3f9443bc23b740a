-- Hash of the configuration, version, digests of the records from which rules were inferred and of
-- evidence, first and last instant of the log (NULL: of none), and inputs behind the figures of a
-- cluster's periods.
-- parameters: cluster VARCHAR
SELECT run.period, list_sort(list(input)) AS inputs, run.config_hash, run.version,
    run.config ->> '$.inferred_from' AS inferred_from, run.config ->> '$.evidence' AS evidence,
    run.config ->> '$.log_begin' AS log_begin, run.config ->> '$.newest' AS newest
FROM run JOIN run_input USING (run_id, cluster, period)
WHERE run.cluster = $cluster AND stage = 'compute'
GROUP BY ALL
ORDER BY ALL
