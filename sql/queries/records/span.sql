-- The begin of the log, as a period's figures were computed, and the last end of the attempts that ended
-- in its span, or of all (epoch s).
-- parameters: cluster VARCHAR, period VARCHAR, schedule VARCHAR, whole BOOLEAN, from_time BIGINT, to_time BIGINT
-- archive: from_time, to_time
SELECT
    (
        SELECT any_value(value)::BIGINT FROM fidelity_result
        WHERE cluster = $cluster AND period = $period AND metric = 'log_begin'
    ) AS log_begin,
    max(end_time) AS last_end
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule
    AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
