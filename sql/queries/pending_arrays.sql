-- Records of job arrays that stand for several tasks, or whose number of tasks is unknown.
-- parameters: cluster VARCHAR, family VARCHAR, events VARCHAR[]
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
ORDER BY ALL
