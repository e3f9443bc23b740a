-- The runs whose reports have been made, of all clusters.
SELECT cluster, period, run_id FROM run WHERE stage = 'report' ORDER BY ALL
