-- What was read: inputs, their records, what was refused, and the pools they were read into.

CREATE TABLE inputs (
    input_id VARCHAR PRIMARY KEY,      -- SHA-256 of the decompressed bytes and the cluster's name
    cluster VARCHAR NOT NULL,
    file VARCHAR NOT NULL,             -- base name of the log
    dialect VARCHAR NOT NULL,
    content_sha256 VARCHAR NOT NULL,
    bytes BIGINT NOT NULL,             -- decompressed
    records BIGINT NOT NULL,           -- lines that are records, refused ones included
    refused BIGINT NOT NULL,
    steps BIGINT NOT NULL DEFAULT 0,   -- records of parts of jobs, which are no attempts
    elsewhere BIGINT NOT NULL DEFAULT 0, -- records of other clusters, left for an audit of theirs
    duplicates BIGINT NOT NULL,        -- records that another input had brought already
    log_cluster VARCHAR,               -- what the log calls the cluster, where it does
    header JSON NOT NULL               -- what the log's header said
);

CREATE TABLE records (
    cluster VARCHAR NOT NULL,
    job_id VARCHAR NOT NULL,
    job_number BIGINT,
    array_task BIGINT,
    het_offset BIGINT,
    kind VARCHAR NOT NULL,
    "user" VARCHAR,
    account VARCHAR,
    "group" VARCHAR,
    partition VARCHAR,
    qos VARCHAR,
    state VARCHAR,
    reason VARCHAR,
    priority DOUBLE,
    reservation VARCHAR,
    submit_time BIGINT,
    eligible_time BIGINT,
    start_time BIGINT,
    end_time BIGINT,
    occupancy_s BIGINT,
    waited_s BIGINT,
    suspended_s BIGINT,
    walltime_s BIGINT,
    cpus BIGINT,
    nodes BIGINT,
    gpus BIGINT,
    mem_bytes BIGINT,
    line BIGINT NOT NULL,
    byte_offset BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    superseded BOOLEAN NOT NULL,       -- a summary whose bursts are attempts, or known better since
    input_id VARCHAR NOT NULL
);

CREATE TABLE refused (
    cluster VARCHAR NOT NULL,
    input_id VARCHAR NOT NULL,
    file VARCHAR NOT NULL,
    line BIGINT NOT NULL,
    byte_offset BIGINT NOT NULL,
    reason VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    refused_at BIGINT,
    replayed_at BIGINT
);

CREATE TABLE seen (                    -- files that need not be read again while they look the same
    cluster VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    size BIGINT NOT NULL,
    modified_ns BIGINT NOT NULL,
    input_id VARCHAR NOT NULL,
    PRIMARY KEY (cluster, path)
);

CREATE TABLE clusters (
    cluster VARCHAR PRIMARY KEY,
    zone VARCHAR NOT NULL,
    notes JSON NOT NULL                -- what was inferred about it and from what
);

CREATE TABLE pools (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    resource VARCHAR NOT NULL,
    capacity BIGINT NOT NULL,
    PRIMARY KEY (cluster, pool)
);
