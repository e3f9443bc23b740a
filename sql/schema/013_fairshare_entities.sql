-- Histories name each user and account once: in a row for each day their texts took most of the
-- time to write and to read them.

CREATE TABLE fairshare_entity (
    entity_id BIGINT NOT NULL,
    cluster VARCHAR NOT NULL,
    period VARCHAR NOT NULL,           -- whose days these are
    method VARCHAR NOT NULL,
    entity_kind VARCHAR NOT NULL,
    entity VARCHAR,
    parent VARCHAR,
    partition VARCHAR,
    run_id VARCHAR NOT NULL
);

CREATE TABLE fairshare_day (
    entity_id BIGINT NOT NULL,
    as_of BIGINT NOT NULL,
    share DOUBLE,
    usage DOUBLE,
    usage_fraction DOUBLE,
    priority DOUBLE,
    rank BIGINT,
    share_of_all DOUBLE,
    usage_of_all DOUBLE,
    level_fs DOUBLE
);

INSERT INTO fairshare_entity
SELECT row_number() OVER () AS entity_id, *
FROM (
    SELECT DISTINCT cluster, period, method, entity_kind, entity, parent, partition, run_id
    FROM fairshare_result
);

INSERT INTO fairshare_day
SELECT
    entity_id, as_of, share, usage, usage_fraction, priority, rank, share_of_all, usage_of_all,
    level_fs
FROM fairshare_result AS result
JOIN fairshare_entity AS named
    ON named.cluster = result.cluster AND named.period = result.period
    AND named.method = result.method AND named.entity_kind = result.entity_kind
    AND named.entity IS NOT DISTINCT FROM result.entity
    AND named.parent IS NOT DISTINCT FROM result.parent
    AND named.partition IS NOT DISTINCT FROM result.partition
    AND named.run_id = result.run_id;

DROP TABLE fairshare_result;
