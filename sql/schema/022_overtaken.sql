-- All jobs of users and accounts in the base of a verdict, beside those that later jobs overtook.
ALTER TABLE overtaken_result ADD COLUMN jobs BIGINT;  -- ended in the base; NULL: of a version before
