-- Inputs, their records, refused lines, pools, and the list of archived files.

CREATE TABLE inputs (
    input_id VARCHAR PRIMARY KEY,      -- SHA-256 of the decompressed bytes and the cluster's name
    cluster VARCHAR NOT NULL,
    file VARCHAR NOT NULL,             -- base name of the log
    dialect VARCHAR NOT NULL,
    content_sha256 VARCHAR NOT NULL,
    bytes BIGINT NOT NULL,             -- decompressed
    records BIGINT NOT NULL,           -- lines with a record, refused ones included
    refused BIGINT NOT NULL,
    unkept BIGINT NOT NULL DEFAULT 0,  -- refused records that are counted only
    steps BIGINT NOT NULL DEFAULT 0,   -- records of job steps, which are no attempts
    elsewhere BIGINT NOT NULL DEFAULT 0, -- records of other clusters, which are left out
    duplicates BIGINT NOT NULL,        -- records already known from another input
    log_cluster VARCHAR,               -- name of the cluster in the log, if any
    header JSON NOT NULL,              -- content of the log's header
    source VARCHAR                     -- source in config.toml, or the log itself
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
    gpus BIGINT,                       -- of all types
    gpu_types VARCHAR,                 -- those with a type, such as a100:4,h100:2
    any_gpu_type BOOLEAN,              -- whether it requested GPUs, but no type
    mem_bytes BIGINT,
    req_cpus BIGINT,                   -- CPUs requested
    req_mem_bytes BIGINT,              -- memory requested
    req_for_memory BOOLEAN,            -- whether memory raised the request (MaxMemPerCPU)
    constraints VARCHAR,               -- node features that it requires, as Slurm writes them
    required_nodes VARCHAR,            -- hostlist of the nodes that it requested by name
    array_throttle BIGINT,             -- most tasks of its array that may run at one time
    nice BIGINT,                       -- by how much its user lowered its priority
    node_list VARCHAR,                 -- hostlist of the nodes on which it ran
    node_amounts VARCHAR,              -- amounts on each of these nodes: cpus=4(x3),8 gpus=1(x4)
    line BIGINT NOT NULL,
    byte_offset BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    superseded BOOLEAN NOT NULL,       -- replaced by its bursts, or by a later version
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
    replayed_at BIGINT,
    code VARCHAR                       -- a RefusalCode
);

CREATE TABLE seen (                    -- files that are not read again while unchanged
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
    notes JSON NOT NULL                -- what was inferred about it, with sources
);

CREATE TABLE pools (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    resource VARCHAR NOT NULL,
    capacity BIGINT NOT NULL,
    PRIMARY KEY (cluster, pool)
);

-- Nodes of pools, as declared or as what ran on them shows.
CREATE TABLE node (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    node VARCHAR NOT NULL,
    cpus BIGINT,
    mem_bytes BIGINT,
    gpus BIGINT,
    gpu_type VARCHAR,                  -- of several types: separated by commas
    features VARCHAR[],                -- NULL: unknown
    source VARCHAR NOT NULL
);

CREATE TABLE doubtful AS FROM records LIMIT 0;   -- records of a time far from its source's
ALTER TABLE doubtful ADD COLUMN file VARCHAR;
ALTER TABLE doubtful ADD COLUMN doubt VARCHAR;   -- why
ALTER TABLE doubtful ADD COLUMN text VARCHAR;    -- the line of the log
ALTER TABLE doubtful ADD COLUMN refused_at BIGINT;

CREATE TABLE accepted (                          -- records whose dates were accepted by hand
    input_id VARCHAR NOT NULL,
    byte_offset BIGINT NOT NULL,
    PRIMARY KEY (input_id, byte_offset)
);

CREATE TABLE set_aside (                         -- logs that were refused as a whole
    cluster VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    file VARCHAR NOT NULL,                       -- its base name
    code VARCHAR NOT NULL,                       -- a SetAsideCode
    reason VARCHAR NOT NULL,
    found_at BIGINT,
    PRIMARY KEY (cluster, path)
);

-- Windows of time requested from commands, and when.
CREATE TABLE pulled (
    cluster VARCHAR NOT NULL,
    source VARCHAR NOT NULL,           -- part of the hash of the command and the cluster's zone
    from_time BIGINT NOT NULL,
    to_time BIGINT NOT NULL,
    pulled_at BIGINT NOT NULL,         -- when it was last requested and read completely
    PRIMARY KEY (cluster, source, from_time, to_time)
);

-- Attempts that ended long ago, in Parquet files beside the database; the views all_records and
-- all_results read these and the tables.
CREATE TABLE archived (
    cluster VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,         -- of the month, epoch s
    to_time BIGINT NOT NULL,           -- of the month, or of the last archived period
    first_arrival BIGINT,              -- of its attempts, epoch s
    records BIGINT NOT NULL,
    results BIGINT NOT NULL,
    records_file VARCHAR NOT NULL,     -- relative to the folder of the published database
    results_file VARCHAR NOT NULL,
    records_sha256 VARCHAR NOT NULL,
    results_sha256 VARCHAR NOT NULL,
    PRIMARY KEY (cluster, to_time)
);

CREATE TABLE archived_input (          -- how many records of each input are archived
    cluster VARCHAR NOT NULL,
    to_time BIGINT NOT NULL,           -- of the row of "archived"
    input_id VARCHAR NOT NULL,
    records BIGINT NOT NULL
);

-- Identity of this store, part of the names of its archive's files; no row before the first archive.
CREATE TABLE identity (
    store VARCHAR NOT NULL             -- 16 random hex digits, part of the names of its files
);
