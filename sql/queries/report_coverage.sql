-- How many days of a span the log has records for, and how many lines no day is known of.
-- parameters: cluster VARCHAR, from_day DATE, to_day DATE
SELECT
    count(*) FILTER (day BETWEEN $from_day AND $to_day) AS days,
    count(*) FILTER (day BETWEEN $from_day AND $to_day AND state = 'empty') AS empty,
    count(*) FILTER (day BETWEEN $from_day AND $to_day AND state = 'partial') AS partial,
    coalesce(sum(refused) FILTER (day IS NULL), 0)::BIGINT AS undated
FROM coverage_result
WHERE cluster = $cluster
