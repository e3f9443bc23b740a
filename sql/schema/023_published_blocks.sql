-- What pages of users and accounts say about everybody: figures of blocks of closed weeks. A block
-- is written once and never changed, so that no two pages differ by what came late (docs/people.md).

CREATE TABLE published_block (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,         -- of the block, epoch s
    to_time BIGINT NOT NULL,
    width VARCHAR,                     -- NULL: all width and walltime classes together
    walltime VARCHAR,
    metric VARCHAR NOT NULL,
    value DOUBLE NOT NULL              -- rounded
);

CREATE TABLE published_wait (              -- what the jobs of each waited for in a block, s
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,         -- of the block, epoch s
    to_time BIGINT NOT NULL,
    entity_kind VARCHAR NOT NULL,      -- user | account
    entity VARCHAR NOT NULL,
    part VARCHAR NOT NULL,             -- room, shared, own, earlier, later, down
    wait_s DOUBLE NOT NULL
);
