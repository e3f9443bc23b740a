-- Waits of other users' similar attempts, within 1, 1, 7 and 30 days of the arrival.
WITH held AS (
    SELECT
        line,
        "user",
        arrival_time,
        wait_s,
        arrival_time // 86400 AS day,
        "partition" AS place,
        width_class || CASE
            WHEN walltime_s <= 3600 THEN ' 1'
            WHEN walltime_s <= 14400 THEN ' 4'
            WHEN walltime_s <= 43200 THEN ' 12'
            WHEN walltime_s <= 86400 THEN ' 24'
            ELSE ' more'
        END AS kind
    FROM described
),
near AS (
    SELECT *, unnest(range(day - 1, day + 2)) AS beside FROM held
),
near_means AS (
    SELECT one.line, other."user", count(*) AS number, avg(other.wait_s) AS mean
    FROM near AS one
    JOIN held AS other
        ON one.kind = other.kind AND one.place = other.place AND one.beside = other.day
    WHERE one."user" <> other."user" AND abs(one.arrival_time - other.arrival_time) <= 86400
    GROUP BY one.line, other."user"
),
near_waits AS MATERIALIZED (
    SELECT line, avg(mean) AS peer_wait_s FROM near_means GROUP BY line
    HAVING sum(number) >= 20 AND count(*) >= 3
),
anywhere AS (
    SELECT *, unnest(range(day - 1, day + 2)) AS beside
    FROM held WHERE line NOT IN (SELECT line FROM near_waits)
),
anywhere_means AS (
    SELECT one.line, other."user", count(*) AS number, avg(other.wait_s) AS mean
    FROM anywhere AS one
    JOIN held AS other ON one.kind = other.kind AND one.beside = other.day
    WHERE one."user" <> other."user" AND abs(one.arrival_time - other.arrival_time) <= 86400
    GROUP BY one.line, other."user"
),
anywhere_waits AS MATERIALIZED (
    SELECT line, avg(mean) AS peer_wait_s FROM anywhere_means GROUP BY line
    HAVING sum(number) >= 20 AND count(*) >= 3
    UNION ALL FROM near_waits
),
week AS (
    SELECT *, unnest(range(day - 7, day + 8)) AS beside
    FROM held WHERE line NOT IN (SELECT line FROM anywhere_waits)
),
week_means AS (
    SELECT one.line, other."user", count(*) AS number, avg(other.wait_s) AS mean
    FROM week AS one
    JOIN held AS other ON one.kind = other.kind AND one.beside = other.day
    WHERE one."user" <> other."user" AND abs(one.arrival_time - other.arrival_time) <= 604800
    GROUP BY one.line, other."user"
),
week_waits AS MATERIALIZED (
    SELECT line, avg(mean) AS peer_wait_s FROM week_means GROUP BY line
    HAVING sum(number) >= 20 AND count(*) >= 3
    UNION ALL FROM anywhere_waits
),
month AS (
    SELECT *, unnest(range(day - 30, day + 31)) AS beside
    FROM held WHERE line NOT IN (SELECT line FROM week_waits)
),
month_means AS (
    SELECT one.line, other."user", count(*) AS number, avg(other.wait_s) AS mean
    FROM month AS one
    JOIN held AS other ON one.kind = other.kind AND one.beside = other.day
    WHERE one."user" <> other."user" AND abs(one.arrival_time - other.arrival_time) <= 2592000
    GROUP BY one.line, other."user"
),
waits AS (
    SELECT line, avg(mean) AS peer_wait_s FROM month_means GROUP BY line
    HAVING sum(number) >= 20 AND count(*) >= 3
    UNION ALL FROM week_waits
)
SELECT line, peer_wait_s FROM held LEFT JOIN waits USING (line)
