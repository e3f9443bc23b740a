-- Every report that was made, and when its period ended.
SELECT cluster, period, to_time FROM run WHERE stage = 'report' ORDER BY cluster, to_time, period
