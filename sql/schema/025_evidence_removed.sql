-- What was removed of the statements about jobs (retention.evidence_days), so that a period's evidence
-- is still told from another's.

CREATE TABLE evidence_removed (
    cluster VARCHAR NOT NULL,
    until BIGINT NOT NULL,             -- end of a day of the cluster, epoch s
    statements BIGINT NOT NULL,        -- of this day
    mixed UHUGEINT NOT NULL,           -- a mixture of them, see evidence_digest.sql
    PRIMARY KEY (cluster, until)
);
