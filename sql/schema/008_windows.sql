-- Windows of time that commands were asked for, and when.

CREATE TABLE pulled (
    cluster VARCHAR NOT NULL,
    source VARCHAR NOT NULL,           -- part of the hash of the command and the cluster's zone
    from_time BIGINT NOT NULL,
    to_time BIGINT NOT NULL,
    pulled_at BIGINT NOT NULL,         -- when it was last asked for and taken in whole
    PRIMARY KEY (cluster, source, from_time, to_time)
);
