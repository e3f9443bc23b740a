-- Nothing starts before it arrives or ends before it starts.
SELECT cluster, job_id, attempt, arrival_time, start_time, end_time
FROM job_result
WHERE start_time < arrival_time OR end_time < start_time
