-- What was said of a cluster when a period was computed: its report can be made again as it was.

CREATE TABLE run_note (
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    zone VARCHAR NOT NULL,
    notes JSON NOT NULL,               -- as in clusters
    run_id VARCHAR NOT NULL,
    PRIMARY KEY (cluster, period)
);
