-- What fair start times were computed from: while it stays the same, so do they.

ALTER TABLE job_result ADD COLUMN IF NOT EXISTS fst_basis BIGINT;
