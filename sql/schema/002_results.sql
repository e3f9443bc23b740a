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

CREATE TABLE job_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    job_id VARCHAR NOT NULL,
    attempt BIGINT NOT NULL,
    "user" VARCHAR,
    account VARCHAR,
    "group" VARCHAR,
    partition VARCHAR,
    qos VARCHAR,
    state VARCHAR,
    reason VARCHAR,
    priority DOUBLE,
    reservation VARCHAR,
    standing VARCHAR NOT NULL,
    size BIGINT,
    cpus BIGINT,
    nodes BIGINT,
    gpus BIGINT,
    mem_bytes BIGINT,
    submit_time BIGINT,
    arrival_time BIGINT,
    arrival_clipped BOOLEAN,
    start_time BIGINT,
    end_time BIGINT,
    wait_s BIGINT,
    occupancy_s BIGINT,
    runtime_s BIGINT,
    walltime_s BIGINT,
    bounded_slowdown DOUBLE,
    fair_slowdown DOUBLE,
    width_class VARCHAR,
    overtaken_by BIGINT,
    overtook BIGINT,
    re_deserved DOUBLE,
    re_consumed DOUBLE,
    re_unfairness DOUBLE,
    fst_strict BIGINT,
    fst_relaxed BIGINT,
    fst_status VARCHAR,
    miss_strict_s BIGINT,
    miss_relaxed_s BIGINT,
    run_id VARCHAR NOT NULL
);

CREATE TABLE entity_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    entity_kind VARCHAR NOT NULL,      -- user | account
    entity VARCHAR,                    -- null: the log names none
    jobs BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    never_started BIGINT NOT NULL,
    gave_up_wait_s BIGINT NOT NULL,
    tuwt_s BIGINT NOT NULL,
    tusa DOUBLE NOT NULL,
    nuwt DOUBLE,
    miss_strict_s BIGINT,
    miss_relaxed_s BIGINT,
    missed_strict BIGINT,
    missed_relaxed BIGINT,
    re_unfairness_positive DOUBLE,
    re_unfairness_net DOUBLE,
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
