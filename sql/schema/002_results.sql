-- What was computed. Every row names the run that made it.

CREATE TABLE run (
    run_id VARCHAR NOT NULL,
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    from_time BIGINT,
    to_time BIGINT,
    stage VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    error VARCHAR,
    version VARCHAR NOT NULL,
    config JSON NOT NULL,              -- the configuration in force
    config_hash VARCHAR NOT NULL,
    input_hash VARCHAR NOT NULL,
    PRIMARY KEY (cluster, period, stage)
);

-- All other columns of job_result and entity_result are declared in audit/registry/columns.py.
CREATE TABLE job_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    job_id VARCHAR NOT NULL,
    attempt BIGINT NOT NULL,
    standing VARCHAR NOT NULL,
    arrival_clipped BOOLEAN,
    run_id VARCHAR NOT NULL
);

CREATE TABLE entity_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    entity_kind VARCHAR NOT NULL,      -- user | account
    entity VARCHAR,                    -- null: the log names none
    run_id VARCHAR NOT NULL
);

CREATE TABLE summary_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    dimension VARCHAR NOT NULL,
    dimension_value VARCHAR,
    value DOUBLE,
    lower DOUBLE,
    upper DOUBLE,
    unit VARCHAR NOT NULL,
    attempts BIGINT,
    run_id VARCHAR NOT NULL
);

CREATE TABLE fairshare_result (
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,           -- whose days these are
    as_of BIGINT NOT NULL,
    method VARCHAR NOT NULL,
    entity_kind VARCHAR NOT NULL,
    entity VARCHAR,
    parent VARCHAR,
    share DOUBLE,
    usage DOUBLE,
    usage_fraction DOUBLE,
    priority DOUBLE,
    rank BIGINT,
    run_id VARCHAR NOT NULL
);

CREATE TABLE fidelity_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    "order" VARCHAR NOT NULL,
    backfill VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    value DOUBLE,
    unit VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL
);

CREATE TABLE coverage_result (
    cluster VARCHAR NOT NULL,
    day DATE,
    records BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    state VARCHAR NOT NULL
);

CREATE TABLE restatement (
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    dimension VARCHAR NOT NULL,
    dimension_value VARCHAR,
    old_value DOUBLE,
    new_value DOUBLE,
    because VARCHAR NOT NULL,
    old_run_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL
);

CREATE TABLE delivery (
    run_id VARCHAR NOT NULL,
    report VARCHAR NOT NULL,
    recipient VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    attempts BIGINT NOT NULL,
    message_id VARCHAR NOT NULL,
    updated_at BIGINT,
    error VARCHAR
);
