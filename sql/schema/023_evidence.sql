-- What schedulers said of jobs and nodes at instants (squeue, sprio, their own logs).

CREATE TABLE evidence_record (
    cluster VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,             -- an EvidenceKind
    instant BIGINT NOT NULL,           -- epoch s
    job_id VARCHAR,                    -- NULL: about a node
    node VARCHAR,                      -- NULL: about a job
    state VARCHAR,
    reason VARCHAR,
    priority DOUBLE,
    expected_start BIGINT              -- epoch s, as the scheduler planned it
);

-- The files of evidence that were read, as they looked.
CREATE TABLE evidence_seen (
    cluster VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    size BIGINT NOT NULL,
    modified_ns BIGINT NOT NULL,
    PRIMARY KEY (cluster, kind, path)
);
