-- The history of runs, the inputs of each, and the ledger of mails.

-- The history of runs when this database was last published (audit/nightly/history.py).
CREATE TABLE history (
    id BIGINT PRIMARY KEY,
    run BIGINT NOT NULL,
    stage VARCHAR NOT NULL,
    cluster VARCHAR,                   -- NULL: all
    period VARCHAR,                    -- NULL: all
    state VARCHAR NOT NULL,
    exit_code BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    error VARCHAR,
    version VARCHAR NOT NULL
);

-- The notes on a cluster when a period was computed, so that its report can be made again.
CREATE TABLE run_note (
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    zone VARCHAR NOT NULL,
    notes JSON NOT NULL,               -- as in clusters
    run_id VARCHAR NOT NULL,
    PRIMARY KEY (cluster, period)
);

-- The inputs of each run's figures, so that the next run can report why they changed.
CREATE TABLE run_input (
    run_id VARCHAR NOT NULL,
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    input VARCHAR NOT NULL             -- the input, with numbers of records set aside or replayed
);

-- The ledger of mails: one row for each report and recipient.
CREATE TABLE delivery (
    run_id VARCHAR NOT NULL,           -- of the report
    report VARCHAR NOT NULL,           -- CLUSTER/PERIOD
    recipient VARCHAR NOT NULL,        -- one address
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    state VARCHAR NOT NULL CHECK (state IN ('claimed', 'sending', 'sent', 'refused', 'unknown')),
    attempts BIGINT NOT NULL,          -- attempts so far
    message_id VARCHAR NOT NULL,
    report_state VARCHAR,              -- complete, partial, …: the state of the report in the mail
    updated_at BIGINT,
    error VARCHAR,                     -- last answer of the mail server, or why it was not contacted
    PRIMARY KEY (run_id, report, recipient)
);
