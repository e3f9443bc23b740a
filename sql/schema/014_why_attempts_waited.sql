-- Why an attempt waited: its wait taken apart, its peers, what the modelled policy would have done.

ALTER TABLE job_result ADD COLUMN wait_room_s BIGINT;
ALTER TABLE job_result ADD COLUMN wait_shared_s BIGINT;
ALTER TABLE job_result ADD COLUMN wait_own_s DOUBLE;       -- shares of seconds
ALTER TABLE job_result ADD COLUMN wait_earlier_s DOUBLE;
ALTER TABLE job_result ADD COLUMN wait_later_s DOUBLE;
ALTER TABLE job_result ADD COLUMN wait_down_s BIGINT;
ALTER TABLE job_result ADD COLUMN peer_wait_s DOUBLE;
ALTER TABLE job_result ADD COLUMN ready_time BIGINT;
ALTER TABLE job_result ADD COLUMN decision VARCHAR;
ALTER TABLE job_result ADD COLUMN kept_s BIGINT;
ALTER TABLE job_result ADD COLUMN idle_s BIGINT;
ALTER TABLE job_result ADD COLUMN idle_because VARCHAR;
ALTER TABLE job_result ADD COLUMN start_modelled BIGINT;
ALTER TABLE job_result ADD COLUMN overtaken_s BIGINT;
ALTER TABLE job_result ADD COLUMN overtaken_own_s BIGINT;
ALTER TABLE job_result ADD COLUMN unmodelled_s BIGINT;
ALTER TABLE job_result ADD COLUMN forward_basis BIGINT;

ALTER TABLE entity_result ADD COLUMN wait_room_s BIGINT;
ALTER TABLE entity_result ADD COLUMN wait_shared_s BIGINT;
ALTER TABLE entity_result ADD COLUMN wait_own_s DOUBLE;
ALTER TABLE entity_result ADD COLUMN wait_earlier_s DOUBLE;
ALTER TABLE entity_result ADD COLUMN wait_later_s DOUBLE;
ALTER TABLE entity_result ADD COLUMN wait_down_s BIGINT;
ALTER TABLE entity_result ADD COLUMN peer_ratio DOUBLE;
ALTER TABLE entity_result ADD COLUMN excess_wait_s DOUBLE;
ALTER TABLE entity_result ADD COLUMN overtaken_s BIGINT;
ALTER TABLE entity_result ADD COLUMN unmodelled_s BIGINT;
