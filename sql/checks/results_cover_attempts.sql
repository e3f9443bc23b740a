-- Every attempt of a computed period, or of a whole log, has a row in the observed schedule.
WITH computed AS (
    SELECT DISTINCT cluster, period, from_time, to_time
    FROM run
    -- if old months are archived, only periods that overlap the rest
    WHERE stage = 'compute' AND (
        period = 'all' OR to_time > (SELECT min(end_time) FROM records WHERE NOT superseded)
    )
)
SELECT cluster, job_id, attempt
FROM records
WHERE NOT superseded AND EXISTS (
    SELECT 1 FROM computed
    WHERE computed.cluster = records.cluster AND (
        period = 'all' OR records.end_time >= from_time AND records.end_time < to_time
    )
)
EXCEPT
SELECT cluster, job_id, attempt FROM job_result WHERE schedule = 'observed'
