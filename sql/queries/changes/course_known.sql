-- The contribution of each user to the main figures of periods, as stored when these were computed.
-- "stretch" numbers the spans from 0; spans that are no such periods have no rows.
-- parameters: cluster VARCHAR, schedule VARCHAR, periods VARCHAR[], from_times BIGINT[], to_times BIGINT[]
WITH stretches AS (
    SELECT
        unnest(range(len($periods::VARCHAR[]))) AS stretch,
        unnest($periods::VARCHAR[]) AS period,
        unnest($from_times::BIGINT[]) AS from_time,
        unnest($to_times::BIGINT[]) AS to_time
),
computed AS (
    SELECT stretch, period
    FROM stretches JOIN run USING (period, from_time, to_time)
    WHERE cluster = $cluster AND stage = 'compute'
)
SELECT
    pool, stretch, "user", first_arrival, attempts, wait_s, booked_s, unexplained_s, judged, missed_s
FROM course_result JOIN computed USING (period)
WHERE cluster = $cluster AND schedule = $schedule
ORDER BY pool, stretch, "user" NULLS FIRST
