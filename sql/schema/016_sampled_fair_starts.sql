-- Where not all fair start times could be computed, those of a sample stand for others.

ALTER TABLE job_result ADD COLUMN fst_weight BIGINT;
