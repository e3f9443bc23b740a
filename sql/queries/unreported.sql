-- Computed periods of a cluster without a report by the same run.
-- parameters: cluster VARCHAR
SELECT computed.period, computed.from_time, computed.to_time, computed.run_id
FROM run AS computed
LEFT JOIN run AS reported
    ON reported.cluster = computed.cluster AND reported.period = computed.period
    AND reported.stage = 'report' AND reported.run_id = computed.run_id
WHERE computed.cluster = $cluster AND computed.stage = 'compute' AND reported.run_id IS NULL
ORDER BY computed.from_time, computed.period
