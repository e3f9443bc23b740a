-- The longest stretches of days without any record in a span, longest first.
-- parameters: cluster VARCHAR, from_day VARCHAR, to_day VARCHAR, gaps BIGINT
WITH numbered AS (
    SELECT day, day - row_number() OVER (ORDER BY day)::INTEGER AS stretch
    FROM coverage_result
    WHERE cluster = $cluster AND state = 'empty' AND day BETWEEN $from_day::DATE AND $to_day::DATE
)
SELECT min(day)::VARCHAR AS first, max(day)::VARCHAR AS last, count(*) AS days
FROM numbered
GROUP BY stretch
ORDER BY days DESC, first
LIMIT $gaps
