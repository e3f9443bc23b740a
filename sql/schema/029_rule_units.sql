-- What the level of a limit counts, and whether it counts entities separately.

ALTER TABLE rule_result ADD COLUMN per VARCHAR;   -- NULL: all jobs together; a window; a version before
ALTER TABLE rule_result ADD COLUMN unit VARCHAR;  -- NULL: a window; of a version before
