-- Median waits of other users' similar jobs, within 1, 7 and 30 days of the arrival.
WITH held AS (
    SELECT
        line,
        "user",
        arrival_time,
        wait_s,
        arrival_time // 86400 AS day,
        "partition" || ' ' || width_class || CASE
            WHEN walltime_s <= 3600 THEN ' 1'
            WHEN walltime_s <= 14400 THEN ' 4'
            WHEN walltime_s <= 43200 THEN ' 12'
            WHEN walltime_s <= 86400 THEN ' 24'
            ELSE ' more'
        END AS kind
    FROM described
),
near_days AS (
    SELECT *, unnest(range(day - 1, day + 2)) AS beside FROM held
),
near_waits AS MATERIALIZED (
    SELECT mine.line, quantile_disc(other.wait_s, 0.5) AS similar_wait_s
    FROM near_days AS mine
    JOIN held AS other ON mine.kind = other.kind AND mine.beside = other.day
    WHERE mine."user" <> other."user" AND abs(mine.arrival_time - other.arrival_time) <= 86400
    GROUP BY mine.line
    HAVING count(*) >= 20 AND count(DISTINCT other."user") >= 3
),
week_days AS (
    SELECT *, unnest(range(day - 7, day + 8)) AS beside FROM held WHERE line NOT IN (SELECT line FROM near_waits)
),
week_waits AS MATERIALIZED (
    SELECT mine.line, quantile_disc(other.wait_s, 0.5) AS similar_wait_s
    FROM week_days AS mine
    JOIN held AS other ON mine.kind = other.kind AND mine.beside = other.day
    WHERE mine."user" <> other."user" AND abs(mine.arrival_time - other.arrival_time) <= 604800
    GROUP BY mine.line
    HAVING count(*) >= 20 AND count(DISTINCT other."user") >= 3
    UNION ALL FROM near_waits
),
month_days AS (
    SELECT *, unnest(range(day - 30, day + 31)) AS beside FROM held WHERE line NOT IN (SELECT line FROM week_waits)
),
month_waits AS MATERIALIZED (
    SELECT mine.line, quantile_disc(other.wait_s, 0.5) AS similar_wait_s
    FROM month_days AS mine
    JOIN held AS other ON mine.kind = other.kind AND mine.beside = other.day
    WHERE mine."user" <> other."user" AND abs(mine.arrival_time - other.arrival_time) <= 2592000
    GROUP BY mine.line
    HAVING count(*) >= 20 AND count(DISTINCT other."user") >= 3
    UNION ALL FROM week_waits
)
SELECT line, similar_wait_s FROM held LEFT JOIN month_waits USING (line)
