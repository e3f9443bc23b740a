-- Attempts that wait, or gave up, beyond what their peers wait.

CREATE TABLE stuck_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    job_id VARCHAR NOT NULL,
    attempt BIGINT NOT NULL,
    waited_s BIGINT NOT NULL,
    peer_p95_s BIGINT NOT NULL,
    peers BIGINT NOT NULL,
    cause VARCHAR                      -- NULL: nothing is known of it
);
