-- The history of runs as it stood when this database was last published (audit/nightly/history.py).

CREATE TABLE history (
    id BIGINT PRIMARY KEY,
    run BIGINT NOT NULL,
    stage VARCHAR NOT NULL,
    cluster VARCHAR,                   -- null: of all
    period VARCHAR,                    -- null: of all
    state VARCHAR NOT NULL,
    exit_code BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    error VARCHAR,
    version VARCHAR NOT NULL
);
