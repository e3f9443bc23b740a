-- Waits, run times, bounded slowdowns and width classes, in the order of arrival.
SELECT
    line,
    least(submit_time, start_time) AS arrival_time,
    start_time - arrival_time AS wait_s,
    end_time - start_time - suspended_s AS runtime_s,
    greatest(1, (end_time - arrival_time) / greatest(runtime_s, 10)) AS bounded_slowdown,
    CASE
        WHEN cpus <= 2 THEN cpus::VARCHAR
        WHEN cpus <= 4 THEN '3-4'
        WHEN cpus <= 8 THEN '5-8'
        WHEN cpus <= 16 THEN '9-16'
        WHEN cpus <= 32 THEN '17-32'
        WHEN cpus <= 64 THEN '33-64'
        WHEN cpus <= 128 THEN '65-128'
        ELSE '>128'
    END AS width_class
FROM attempts
ORDER BY arrival_time, submit_time, job_number
