-- The number of days from the first to the last day with records in a span, and how many are empty or
-- partial.
-- parameters: cluster VARCHAR, from_day VARCHAR, to_day VARCHAR
WITH known AS (
    SELECT day, state
    FROM coverage_result
    WHERE cluster = $cluster AND day BETWEEN $from_day::DATE AND $to_day::DATE
),
edges AS (
    SELECT min(day) AS first, max(day) AS last FROM known WHERE state <> 'empty'
)
SELECT
    count(*) AS days,
    count(*) FILTER (state = 'empty') AS empty,
    count(*) FILTER (state = 'partial') AS partial
FROM known, edges
WHERE day BETWEEN edges.first AND edges.last
