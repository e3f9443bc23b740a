-- Results of the papers' studies on logs.

CREATE TABLE study_result (
    study VARCHAR NOT NULL,
    log VARCHAR NOT NULL,              -- name of the cluster whose logs were studied
    pool VARCHAR NOT NULL,
    setting VARCHAR NOT NULL,          -- what was tried
    metric VARCHAR NOT NULL,
    dimension VARCHAR NOT NULL,
    dimension_value VARCHAR,
    value DOUBLE,
    lower DOUBLE,
    upper DOUBLE,
    unit VARCHAR NOT NULL,
    attempts BIGINT
);
