-- The number of a period's records, or of all, that others replace: summaries by their bursts, earlier
-- versions by later ones.
-- parameters: cluster VARCHAR, whole BOOLEAN, from_time BIGINT, to_time BIGINT
-- archive: from_time, to_time
SELECT count(*) AS superseded
FROM all_records
WHERE cluster = $cluster AND superseded
    AND ($whole OR coalesce(end_time, start_time, submit_time) BETWEEN $from_time AND $to_time - 1)
