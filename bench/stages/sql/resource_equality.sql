-- Resource equality: what each attempt deserved, consumed, and the difference.
WITH events AS (
    SELECT arrival_time AS t, size AS active, 0 AS used FROM described
    UNION ALL SELECT start_time, 0, size FROM described
    UNION ALL SELECT end_time, -size, -size FROM described
),
instants AS (
    SELECT t, sum(active)::BIGINT AS active, sum(used)::BIGINT AS used FROM events GROUP BY t
),
states AS (
    SELECT
        t,
        sum(active) OVER (ORDER BY t) AS active,
        sum(used) OVER (ORDER BY t) AS used,
        lead(t) OVER (ORDER BY t) - t AS lasts
    FROM instants
),
shares AS (
    SELECT
        t,
        coalesce(sum(CASE WHEN active > 0 THEN used / active * lasts ELSE 0 END) OVER (
            ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS p
    FROM states
)
SELECT
    line,
    size * (at_end.p - at_arrival.p) AS re_deserved,
    ((end_time - start_time) * size)::DOUBLE AS re_consumed,
    re_deserved - re_consumed AS re_unfairness
FROM described
JOIN shares AS at_arrival ON at_arrival.t = arrival_time
JOIN shares AS at_end ON at_end.t = end_time
