-- What each user adds to the main figures of a period: trends of later reports are made of it.

CREATE TABLE course_result (
    cluster VARCHAR NOT NULL,
    pool VARCHAR NOT NULL,
    schedule VARCHAR NOT NULL,
    period VARCHAR NOT NULL,
    "user" VARCHAR,
    first_arrival BIGINT,              -- epoch s
    attempts BIGINT NOT NULL,
    wait_s BIGINT NOT NULL,
    apart_s BIGINT NOT NULL,           -- waits that were taken apart
    wait_room_s BIGINT NOT NULL,
    judged BIGINT NOT NULL,            -- attempts with a forward start that counts, or that one stands for
    overtaken_s BIGINT NOT NULL        -- over these
);
