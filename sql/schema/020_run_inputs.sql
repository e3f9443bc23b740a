-- What each run's figures were made of, so that the next can say why they changed.

CREATE TABLE run_input (
    run_id VARCHAR NOT NULL,
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    input VARCHAR NOT NULL             -- the input, and what of it was taken back or in later
);
