-- What the verdict on a pool is decided by, and its reasons (SPEC §14).

CREATE TABLE base_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    from_time BIGINT NOT NULL,         -- of the base, epoch s
    to_time BIGINT NOT NULL,
    ended BIGINT NOT NULL,             -- attempts that ran and ended
    placed BIGINT NOT NULL,            -- of them those with a known start
    users BIGINT NOT NULL,
    waits BIGINT NOT NULL,             -- attempts with a known wait
    long_waits BIGINT NOT NULL,        -- of them those above verdict.long_wait_s
    long_class BOOLEAN NOT NULL,       -- whether a class typically waited longer than that
    wait_p90 BIGINT,
    waited_s DOUBLE NOT NULL,          -- W: all waiting but that before the log begins
    unknown_users_s DOUBLE NOT NULL,   -- parts of W
    no_reason_s DOUBLE NOT NULL,
    not_judged_s DOUBLE NOT NULL,
    not_judged_lower DOUBLE,           -- share of W
    not_judged_upper DOUBLE,
    occupied_s DOUBLE NOT NULL,
    holds BOOLEAN NOT NULL,            -- whether records hold the reasons of waits
    tested BIGINT NOT NULL,            -- users that passed over tested
    tested_s DOUBLE NOT NULL,          -- their part of W
    run_id VARCHAR NOT NULL
);

-- Users and accounts with pairs in the base (passed over).
CREATE TABLE overtaken_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    entity_kind VARCHAR NOT NULL,
    entity VARCHAR NOT NULL,
    attempts BIGINT NOT NULL,          -- with pairs
    passed_jobs BIGINT NOT NULL,       -- with passed time
    passed_median_s BIGINT,            -- of these
    passed_s BIGINT NOT NULL,
    named BOOLEAN,                     -- NULL: unknown
    why VARCHAR,                       -- a PassedWhy; NULL: it is named
    cause VARCHAR,                     -- a known cause: held | usage
    usage_multiple DOUBLE,
    run_id VARCHAR NOT NULL
);

ALTER TABLE verdict_result ADD COLUMN base_from BIGINT;      -- epoch s; NULL: of a version before
ALTER TABLE verdict_result ADD COLUMN because VARCHAR;       -- a Because
ALTER TABLE verdict_result ADD COLUMN bounds VARCHAR[];      -- VerdictBounds that were reached
ALTER TABLE verdict_result ADD COLUMN not_judged DOUBLE;     -- shares of W
ALTER TABLE verdict_result ADD COLUMN treated_worse DOUBLE;
ALTER TABLE verdict_result ADD COLUMN not_tested DOUBLE;
ALTER TABLE verdict_result ADD COLUMN waited_s DOUBLE;       -- W
ALTER TABLE verdict_result ADD COLUMN cause VARCHAR;         -- the largest, in words
ALTER TABLE verdict_result ADD COLUMN over_hour DOUBLE;      -- share of the jobs that waited longer
ALTER TABLE verdict_result ADD COLUMN not_known DOUBLE;      -- share of all waiting
