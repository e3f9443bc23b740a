-- How many days of a span the log has records for, and how many lines no day is known of.
-- parameters: cluster VARCHAR, from_day VARCHAR, to_day VARCHAR
SELECT
    count(*) FILTER (day BETWEEN $from_day::DATE AND $to_day::DATE) AS days,
    count(*) FILTER (day BETWEEN $from_day::DATE AND $to_day::DATE AND state = 'empty') AS empty,
    count(*) FILTER (day BETWEEN $from_day::DATE AND $to_day::DATE AND state = 'partial') AS partial,
    coalesce(sum(refused) FILTER (day IS NULL), 0)::BIGINT AS undated
FROM coverage_result
WHERE cluster = $cluster
