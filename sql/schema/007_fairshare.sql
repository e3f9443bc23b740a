-- Usage against targets, and the effect of the choice of a penalty.

-- Each user and account is named once: repeated in the row of each day, the texts took most of the time
-- to write and read.
CREATE TABLE fairshare_entity (
    entity_id BIGINT NOT NULL,
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,           -- name of the period
    method VARCHAR NOT NULL,
    entity_kind VARCHAR NOT NULL,
    entity VARCHAR,
    parent VARCHAR,
    partition VARCHAR,
    run_id VARCHAR NOT NULL
);

CREATE TABLE fairshare_day (
    entity_id BIGINT NOT NULL,
    as_of BIGINT NOT NULL,
    share DOUBLE,
    usage DOUBLE,
    usage_fraction DOUBLE,
    priority DOUBLE,
    rank BIGINT,
    share_of_all DOUBLE,
    usage_of_all DOUBLE,
    level_fs DOUBLE
);

CREATE TABLE penalty_result (
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    penalty VARCHAR NOT NULL,
    configured BOOLEAN NOT NULL,       -- whether the penalty is configured
    entity_kind VARCHAR NOT NULL,
    entity VARCHAR,                    -- NULL: not in the log
    usage DOUBLE NOT NULL,
    usage_fraction DOUBLE NOT NULL,
    run_id VARCHAR NOT NULL
);

-- The comparisons of a penalty, and their assumptions.
CREATE TABLE charge_result (
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    resource VARCHAR NOT NULL,
    available DOUBLE NOT NULL,
    inferred BOOLEAN NOT NULL,         -- the peak in use
    charged BOOLEAN NOT NULL,          -- whether the configured penalty counts it
    attempts BIGINT NOT NULL,          -- that started and occupied part of the period
    unknown BIGINT NOT NULL,           -- of them without an amount in the log: they count 0
    clipped BIGINT NOT NULL,           -- of them with more than available: they count as all of it
    first_start BIGINT,                -- first known start of any attempt
    run_id VARCHAR NOT NULL
);
