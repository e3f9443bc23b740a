-- Predicted starts. Those of pending jobs are kept from night to night, and judged once the jobs start.
CREATE TABLE prediction_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    job_id VARCHAR NOT NULL,
    attempt BIGINT NOT NULL,
    kind VARCHAR NOT NULL,             -- submission | pending
    made_at BIGINT NOT NULL,           -- all times in epoch s
    p10 BIGINT,                        -- NULL: no prediction, or withheld
    p50 BIGINT,
    p90 BIGINT,
    contested BOOLEAN,                 -- whether p50 is more than 60 s ahead; NULL: no prediction
    withheld_because VARCHAR,
    modelled BIGINT,
    recent BIGINT,
    alike BIGINT
);
