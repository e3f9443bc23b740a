-- Digests of removed statements about jobs (retention.evidence_days), by day. They keep the digest of
-- a period's evidence the same.

CREATE TABLE evidence_removed (
    cluster VARCHAR NOT NULL,
    until BIGINT NOT NULL,             -- end of a day of the cluster, epoch s
    statements BIGINT NOT NULL,        -- of this day
    mixed UHUGEINT NOT NULL,           -- a mixture of them, see evidence_digest.sql
    PRIMARY KEY (cluster, until)
);
