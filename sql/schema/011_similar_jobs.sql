-- Waits have one account (SPEC §11), and similar jobs are those of SPEC §10: the columns of earlier
-- definitions go (audit/registry/gone.py).

DROP TABLE stuck_result;

-- Attempts that wait longer than similar jobs did, or gave up after that.
CREATE TABLE stuck_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    job_id VARCHAR NOT NULL,
    attempt BIGINT NOT NULL,
    waited_s BIGINT NOT NULL,
    similar_p95_s BIGINT NOT NULL,
    similar_jobs BIGINT NOT NULL,
    cause VARCHAR                      -- NULL: unknown
);

ALTER TABLE job_result DROP COLUMN IF EXISTS wait_room_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS wait_shared_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS wait_own_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS wait_earlier_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS wait_later_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS wait_down_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS kept_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS idle_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS idle_because;
ALTER TABLE job_result DROP COLUMN IF EXISTS peer_wait_s;
ALTER TABLE job_result DROP COLUMN IF EXISTS peer_contested_s;

ALTER TABLE entity_result DROP COLUMN IF EXISTS wait_room_s;
ALTER TABLE entity_result DROP COLUMN IF EXISTS wait_shared_s;
ALTER TABLE entity_result DROP COLUMN IF EXISTS wait_own_s;
ALTER TABLE entity_result DROP COLUMN IF EXISTS wait_earlier_s;
ALTER TABLE entity_result DROP COLUMN IF EXISTS wait_later_s;
ALTER TABLE entity_result DROP COLUMN IF EXISTS wait_down_s;
ALTER TABLE entity_result DROP COLUMN IF EXISTS peer_ratio;
ALTER TABLE entity_result DROP COLUMN IF EXISTS contested_ratio;
ALTER TABLE entity_result DROP COLUMN IF EXISTS contested_excess_s;
-- Its definition changed, and with it its type.
ALTER TABLE entity_result DROP COLUMN IF EXISTS excess_wait_s;

-- Blocks of earlier definitions stay; a page compares only the current ones.
ALTER TABLE published_block ADD COLUMN definition BIGINT DEFAULT 1;
ALTER TABLE published_wait ADD COLUMN definition BIGINT DEFAULT 1;
