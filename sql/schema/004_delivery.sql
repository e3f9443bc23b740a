-- The ledger of mails: one row for each report and recipient. Nothing had written to it before.

DROP TABLE delivery;

CREATE TABLE delivery (
    run_id VARCHAR NOT NULL,           -- of the report
    report VARCHAR NOT NULL,           -- CLUSTER/PERIOD
    recipient VARCHAR NOT NULL,        -- one address
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    state VARCHAR NOT NULL CHECK (state IN ('claimed', 'sending', 'sent', 'refused', 'unknown')),
    attempts BIGINT NOT NULL,          -- tries so far
    message_id VARCHAR NOT NULL,
    report_state VARCHAR,              -- complete, partial, …: what the mail said of the report
    updated_at BIGINT,
    error VARCHAR,                     -- what the mail server said last, or why it was not asked
    PRIMARY KEY (run_id, report, recipient)
);
