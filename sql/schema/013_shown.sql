-- The evidence of SPEC §11: rules with their stops and waits, and users whose jobs were held.

ALTER TABLE rule_result ADD COLUMN name VARCHAR;  -- NULL: of a version before
ALTER TABLE rule_result ADD COLUMN scope VARCHAR;
ALTER TABLE rule_result ADD COLUMN level BIGINT;
ALTER TABLE rule_result ADD COLUMN stops BIGINT;
ALTER TABLE rule_result ADD COLUMN waiting_s BIGINT;
ALTER TABLE rule_result ADD COLUMN free_s BIGINT;
ALTER TABLE rule_result DROP COLUMN IF EXISTS breaks_by_chance;
ALTER TABLE rule_result DROP COLUMN IF EXISTS gain;

CREATE TABLE hold_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,             -- chain | own limit | joint release | own-triggered | begin time
    entity_kind VARCHAR NOT NULL,
    entity VARCHAR NOT NULL,
    jobs BIGINT NOT NULL,
    evidence VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL
);
