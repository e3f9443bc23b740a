-- Every report, and the end of its period.
SELECT cluster, period, to_time FROM run WHERE stage = 'report' ORDER BY cluster, to_time, period
