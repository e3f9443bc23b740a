-- Attempts that ended long ago, in Parquet files beside the database; the views all_records and
-- all_results read these and the tables.

CREATE TABLE archived (
    cluster VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,         -- of the month, epoch s
    to_time BIGINT NOT NULL,           -- of the month, or of the last period that is archived
    first_arrival BIGINT,              -- of its attempts, epoch s
    records BIGINT NOT NULL,
    results BIGINT NOT NULL,
    records_file VARCHAR NOT NULL,     -- relative to the folder of the published database
    results_file VARCHAR NOT NULL,
    records_sha256 VARCHAR NOT NULL,
    results_sha256 VARCHAR NOT NULL,
    PRIMARY KEY (cluster, to_time)
);

CREATE TABLE archived_input (          -- how many records of each input are archived
    cluster VARCHAR NOT NULL,
    to_time BIGINT NOT NULL,           -- of the row of "archived"
    input_id VARCHAR NOT NULL,
    records BIGINT NOT NULL
);
