-- Shares of a pool that accounts held over time, and those that they were entitled to.

CREATE TABLE share_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    account VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,         -- epoch s
    to_time BIGINT NOT NULL,
    held DOUBLE NOT NULL,
    entitled DOUBLE NOT NULL,
    deficit DOUBLE NOT NULL,
    run_id VARCHAR NOT NULL
);
