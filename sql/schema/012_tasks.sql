-- The attempts for which one record stands: tasks of an array that wait, or never started.

ALTER TABLE records ADD COLUMN tasks BIGINT DEFAULT 1;
ALTER TABLE records ADD COLUMN array_tasks VARCHAR;  -- these tasks; see audit/arrays.py
ALTER TABLE doubtful ADD COLUMN tasks BIGINT DEFAULT 1;
ALTER TABLE doubtful ADD COLUMN array_tasks VARCHAR;
-- of rows that were read before, the tasks that Slurm lists in the id
UPDATE records SET array_tasks = regexp_extract(job_id, '_\[([0-9:,-]*[0-9])(%[0-9]+)?\]$', 1)
WHERE regexp_matches(job_id, '_\[[0-9:,-]*[0-9](%[0-9]+)?\]$');
