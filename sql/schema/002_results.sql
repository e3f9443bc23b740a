-- Computed results. Every row names the run that made it.

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
    entity VARCHAR,                    -- NULL: not in the log
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

CREATE TABLE fidelity_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    "order" VARCHAR NOT NULL,
    backfill VARCHAR NOT NULL,
    metric VARCHAR NOT NULL,
    value DOUBLE,
    unit VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    fair_order VARCHAR DEFAULT 'fcfs'  -- order of the pool's fair start times
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

-- Attempts that wait longer than similar jobs did, or gave up after that.
CREATE TABLE stuck_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    job_id VARCHAR NOT NULL,
    attempt BIGINT NOT NULL,
    waited_s BIGINT NOT NULL,
    peer_p95_s BIGINT NOT NULL,
    peers BIGINT NOT NULL,
    cause VARCHAR                      -- NULL: unknown
);

-- Limits and windows in force, with the evidence for inferred ones.
CREATE TABLE rule_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,             -- limit | window | overlap window
    source VARCHAR NOT NULL,           -- configured | inferred
    valid_from DATE,
    valid_to DATE,
    starts BIGINT,
    breaks BIGINT,
    breaks_by_chance DOUBLE,
    gain DOUBLE,
    run_id VARCHAR NOT NULL
);

-- Spans in which nothing ran while a job waited that could have run.
CREATE TABLE outage_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,         -- epoch s
    to_time BIGINT NOT NULL,
    waited_s BIGINT NOT NULL,
    run_id VARCHAR NOT NULL
);

-- Small changes of a pool's policy, replayed on the log of a period, and their effect on waits.
CREATE TABLE advice_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    change VARCHAR NOT NULL,           -- options of whatif
    title VARCHAR NOT NULL,
    place BIGINT,                      -- NULL: not advised
    outcome VARCHAR NOT NULL,
    dimension VARCHAR,                 -- all | width_class; NULL: not tried
    dimension_value VARCHAR,
    observed_s BIGINT,
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
    never_start BIGINT,                -- NULL: not tried
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

-- The verdict of each report, for the index page and for analysts.
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

-- The contribution of each user to the main figures of a period, for trends of later reports.
CREATE TABLE course_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    "user" VARCHAR,
    first_arrival BIGINT,              -- epoch s
    attempts BIGINT NOT NULL,
    wait_s BIGINT NOT NULL,
    booked_s BIGINT NOT NULL,          -- waits with an account
    unexplained_s BIGINT NOT NULL,
    judged BIGINT NOT NULL,            -- attempts with a modelled start, or represented by one
    overtaken_s BIGINT NOT NULL        -- total over these attempts
);

-- Figures over all users, for pages of users and accounts, in blocks of completed weeks. A block is
-- written once and never changed, so that late records cannot make pages differ (docs/people.md).
CREATE TABLE published_block (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,         -- of the block, epoch s
    to_time BIGINT NOT NULL,
    width VARCHAR,                     -- NULL: all width and walltime classes together
    walltime VARCHAR,
    metric VARCHAR NOT NULL,
    value DOUBLE NOT NULL              -- rounded
);

CREATE TABLE published_wait (              -- waits of each by cause in a block, s
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,         -- of the block, epoch s
    to_time BIGINT NOT NULL,
    entity_kind VARCHAR NOT NULL,      -- user | account
    entity VARCHAR NOT NULL,
    part VARCHAR NOT NULL,             -- key of a cause
    wait_s DOUBLE NOT NULL
);

-- Results of the papers' studies on logs.
CREATE TABLE study_result (
    study VARCHAR NOT NULL,
    log VARCHAR NOT NULL,              -- name of the cluster whose logs were studied
    pool VARCHAR NOT NULL,
    setting VARCHAR NOT NULL,          -- such as a load and a policy
    metric VARCHAR NOT NULL,
    dimension VARCHAR NOT NULL,
    dimension_value VARCHAR,
    value DOUBLE,
    lower DOUBLE,
    upper DOUBLE,
    unit VARCHAR NOT NULL,
    attempts BIGINT
);
