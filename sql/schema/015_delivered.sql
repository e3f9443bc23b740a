-- Fair starts on what the machine delivered (SPEC §10). They replace modelled starts and decisions.

ALTER TABLE fidelity_result ADD COLUMN own_peak BOOLEAN;  -- NULL: of the modelled policy
ALTER TABLE job_result DROP COLUMN IF EXISTS ready_time;
ALTER TABLE job_result DROP COLUMN IF EXISTS decision;
ALTER TABLE job_result DROP COLUMN IF EXISTS start_modelled;
ALTER TABLE job_result DROP COLUMN IF EXISTS overtaken_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS overtaken_own_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS unmodelled_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS forward_basis;
ALTER TABLE entity_result DROP COLUMN IF EXISTS overtaken_s;
ALTER TABLE entity_result DROP COLUMN IF EXISTS unmodelled_s;

-- What was stored of periods is the delay under a model, which compares with nothing any more.
ALTER TABLE course_result DROP COLUMN IF EXISTS overtaken_s;
ALTER TABLE course_result ADD COLUMN missed_s BIGINT DEFAULT 0;  -- total miss of fst_delivered
UPDATE course_result SET judged = 0;
