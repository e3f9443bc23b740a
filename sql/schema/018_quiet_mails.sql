-- Mails about quiet periods may be left out (mail.quiet).

CREATE TABLE delivery_kept AS FROM delivery;
DROP TABLE delivery;
CREATE TABLE delivery (
    run_id VARCHAR NOT NULL,           -- of the report
    report VARCHAR NOT NULL,           -- CLUSTER/PERIOD
    recipient VARCHAR NOT NULL,        -- one address
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    state VARCHAR NOT NULL
        CHECK (state IN ('claimed', 'sending', 'sent', 'refused', 'unknown', 'quiet')),
    attempts BIGINT NOT NULL,          -- attempts so far
    message_id VARCHAR NOT NULL,
    report_state VARCHAR,              -- complete, partial, …: the state of the report in the mail
    updated_at BIGINT,
    error VARCHAR,                     -- last answer of the mail server, or why it was not contacted
    PRIMARY KEY (run_id, report, recipient)
);
INSERT INTO delivery BY NAME FROM delivery_kept;
DROP TABLE delivery_kept;
