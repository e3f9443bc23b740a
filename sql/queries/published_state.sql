-- What tells two states of a database apart: its runs and its inputs.
SELECT 'run' AS kind, cluster, period AS name, stage || ' ' || run_id AS state FROM run
UNION ALL
SELECT 'input', cluster, input_id, records || ' ' || refused || ' ' || duplicates FROM inputs
ORDER BY ALL
