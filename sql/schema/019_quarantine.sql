-- What was not taken: kinds of refusal, records with doubtful dates, and logs that were set aside.

ALTER TABLE inputs ADD COLUMN source VARCHAR;    -- what of config.toml brought it; the log itself
UPDATE inputs SET source = file;

ALTER TABLE refused ADD COLUMN code VARCHAR;     -- a RefusalCode
UPDATE refused SET code = 'value';

CREATE TABLE doubtful AS FROM records LIMIT 0;   -- read well, but of a time far from its source's
ALTER TABLE doubtful ADD COLUMN file VARCHAR;
ALTER TABLE doubtful ADD COLUMN doubt VARCHAR;   -- why
ALTER TABLE doubtful ADD COLUMN text VARCHAR;    -- as it stands in the log
ALTER TABLE doubtful ADD COLUMN refused_at BIGINT;

CREATE TABLE accepted (                          -- records whose dates somebody called right
    input_id VARCHAR NOT NULL,
    byte_offset BIGINT NOT NULL,
    PRIMARY KEY (input_id, byte_offset)
);

CREATE TABLE set_aside (                         -- logs of which nothing was taken
    cluster VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    file VARCHAR NOT NULL,                       -- its base name
    code VARCHAR NOT NULL,                       -- a SetAsideCode
    reason VARCHAR NOT NULL,
    found_at BIGINT,
    PRIMARY KEY (cluster, path)
);
