-- Each attempt of a cluster appears once in each schedule.
SELECT cluster, schedule, job_id, attempt, count(*) AS times
FROM job_result
GROUP BY ALL
HAVING count(*) > 1
