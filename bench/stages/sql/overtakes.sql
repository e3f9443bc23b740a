-- How many arrived later and started earlier, and the other way round; those who overtook arrived
-- during the wait, so only arrivals of its hours are looked at.
WITH hours AS (
    SELECT
        line,
        arrival_time,
        start_time,
        unnest(range(arrival_time // 3600, start_time // 3600 + 1)) AS hour
    FROM described
    WHERE start_time > arrival_time
),
pairs AS MATERIALIZED (
    SELECT one.line AS passed, other.line AS passing
    FROM hours AS one
    JOIN described AS other ON other.arrival_time // 3600 = one.hour
    WHERE other.arrival_time > one.arrival_time AND other.start_time < one.start_time
),
passed AS (SELECT passed AS line, count(*) AS times FROM pairs GROUP BY passed),
passing AS (SELECT passing AS line, count(*) AS times FROM pairs GROUP BY passing)
SELECT
    line,
    coalesce(passed.times, 0) AS overtaken_by,
    coalesce(passing.times, 0) AS overtook
FROM described
LEFT JOIN passed USING (line)
LEFT JOIN passing USING (line)
