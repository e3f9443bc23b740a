-- Small changes of a pool's policy, replayed on the log of a period, and who would wait how much longer.

CREATE TABLE advice_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    change VARCHAR NOT NULL,           -- as JSON
    title VARCHAR NOT NULL,
    place BIGINT,                      -- NULL: it is not advised
    outcome VARCHAR NOT NULL,
    dimension VARCHAR,                 -- all | width_class; NULL: it was not tried
    dimension_value VARCHAR,
    today_s BIGINT,
    changed_s BIGINT,
    gain_s BIGINT,
    gain_lower_s BIGINT,
    gain_upper_s BIGINT,
    saved_s BIGINT,
    attempts BIGINT,
    users BIGINT,
    gaining_users BIGINT,
    losing_users BIGINT,
    run_id VARCHAR NOT NULL
);

CREATE TABLE advice_part (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    change VARCHAR NOT NULL,
    dimension VARCHAR NOT NULL,
    dimension_value VARCHAR,
    attempts BIGINT NOT NULL,
    users BIGINT NOT NULL,
    today_s BIGINT NOT NULL,
    changed_s BIGINT NOT NULL,
    difference_s BIGINT NOT NULL,
    lower_s BIGINT,                    -- NULL: too few users
    upper_s BIGINT,
    outcome VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL
);
