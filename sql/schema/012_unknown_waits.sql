-- Who gave up without that the log says when they arrived waited nobody knows how long.

ALTER TABLE entity_result ALTER gave_up_wait_s DROP NOT NULL;
