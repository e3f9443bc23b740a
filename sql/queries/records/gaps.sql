-- The longest gaps of days without records within a span, longest first.
-- parameters: cluster VARCHAR, from_day VARCHAR, to_day VARCHAR, gaps BIGINT
WITH known AS (
    SELECT day, state
    FROM coverage_result
    WHERE cluster = $cluster AND day BETWEEN $from_day::DATE AND $to_day::DATE
),
edges AS (
    SELECT min(day) AS first, max(day) AS last FROM known WHERE state <> 'empty'
),
numbered AS (
    SELECT day, day - row_number() OVER (ORDER BY day)::INTEGER AS stretch
    FROM known, edges
    WHERE state = 'empty' AND day BETWEEN edges.first AND edges.last
)
SELECT min(day)::VARCHAR AS first, max(day)::VARCHAR AS last, count(*) AS days
FROM numbered
GROUP BY stretch
ORDER BY days DESC, first
LIMIT $gaps
