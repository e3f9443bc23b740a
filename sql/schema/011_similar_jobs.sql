-- Similar jobs are those of SPEC §10; the columns of the definition before go (audit/registry/gone.py).

DROP TABLE stuck_result;

-- Attempts that wait longer than similar jobs did, or gave up after that.
CREATE TABLE stuck_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    job_id VARCHAR NOT NULL,
    attempt BIGINT NOT NULL,
    waited_s BIGINT NOT NULL,
    similar_p95_s BIGINT NOT NULL,
    similar_jobs BIGINT NOT NULL,
    cause VARCHAR                      -- NULL: unknown
);
