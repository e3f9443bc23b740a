-- What each report answers, for the page over all of them and for analysts.

CREATE TABLE verdict_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,
    to_time BIGINT NOT NULL,
    verdict VARCHAR NOT NULL,          -- fair | mixed | unfair | cannot tell
    sentence VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    PRIMARY KEY (cluster, pool, period)
);
