-- The facts in which two states of a database differ: its runs, reports, inputs, logs set aside,
-- failures, blanked lines, mails and evidence.
SELECT 'run' AS kind, cluster, period AS name, concat_ws(' ', stage, run_id, ended_at) AS state
FROM run
UNION ALL
SELECT 'input', cluster, input_id, records || ' ' || refused || ' ' || duplicates FROM inputs
UNION ALL
SELECT 'failure', cluster, stage, state || ' ' || id FROM history WHERE state <> 'done'
UNION ALL
SELECT 'refused', cluster, input_id, 'blank ' || count(*) FROM refused WHERE text = '' GROUP BY ALL
UNION ALL
SELECT 'mail', cluster, report || ' ' || recipient, state || ' ' || attempts || ' ' || run_id FROM delivery
UNION ALL
SELECT 'set aside', cluster, path, code || ' ' || reason FROM set_aside
UNION ALL
SELECT 'evidence', cluster, kind, count(*)::VARCHAR FROM evidence_record GROUP BY cluster, kind
UNION ALL
SELECT 'archived', cluster, records_file, results_file FROM archived
ORDER BY ALL
