-- Fair start times under a policy are computed anew with the other figures of their period.

ALTER TABLE job_result DROP COLUMN IF EXISTS fst_basis;
