-- How many of the job numbers of a cluster's median month have records, how many array jobs have only
-- one task, and the first and last submission (epoch s). Each member of a federation numbers its jobs
-- by itself, from a multiple of 2^26 on.
-- parameters: cluster VARCHAR
WITH jobs AS (
    SELECT
        job_number,
        job_number >> 26 AS member,
        date_trunc('month', make_timestamp(min(submit_time) * 1000000)) AS month,
        count(DISTINCT (array_task, het_offset)) AS used,  -- each task of an array takes a number
        count(DISTINCT array_task) AS tasks,
        min(submit_time) AS first,
        max(submit_time) AS last
    FROM all_records
    WHERE cluster = $cluster AND NOT superseded AND job_number IS NOT NULL AND submit_time IS NOT NULL
    GROUP BY job_number
),
months AS (  -- without the outermost numbers, which may be damaged
    SELECT month, member, quantile_disc(job_number, [0.01, 0.99]) AS within
    FROM jobs
    GROUP BY month, member
),
members AS (
    SELECT month, sum(used) AS used, any_value(within[2] - within[1] + 1) AS numbers
    FROM jobs
    JOIN months USING (month, member)
    WHERE job_number BETWEEN within[1] AND within[2]
    GROUP BY month, member
),
densities AS (
    SELECT least(1, sum(used) / sum(numbers)) AS density FROM members GROUP BY month
)
SELECT
    count(*) AS jobs,
    (SELECT quantile_disc(density, 0.5) FROM densities) AS density,
    count(*) FILTER (tasks > 0) AS arrays,
    count(*) FILTER (tasks = 1) AS single,
    min(first) AS first,
    max(last) AS last
FROM jobs
