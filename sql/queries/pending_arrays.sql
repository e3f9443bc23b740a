-- Records of job arrays with several tasks, or whose number of tasks is unknown: of the arrays
-- with a record that may still change.
-- parameters: cluster VARCHAR, family VARCHAR, events VARCHAR[]
WITH whole AS (
    SELECT DISTINCT
        regexp_replace(job_id, $family, '\1') AS family,
        job_id, array_tasks, tasks,
        list_contains($events, kind) AS event,
        start_time IS NOT NULL AS started,
        end_time IS NOT NULL AS ended,
        superseded
    FROM records
    WHERE cluster = $cluster AND array_task IS NULL
        AND (array_tasks IS NOT NULL OR contains(job_id, '['))
)
FROM whole
QUALIFY bool_or(NOT superseded AND (event OR NOT (started OR ended))) OVER (PARTITION BY family)
ORDER BY ALL
