-- The first instants in the records of each source of a cluster, epoch s: end of a started attempt,
-- start, submission, and the time at which a record was written (PBS), which is its end, else its
-- start, else when the job became eligible in its queue: one that a routing queue passed on, or
-- that was moved, has an older submission. Of a job that ran, its queue's record counts no sooner
-- than its start, as eligibility is then that of its next run.
-- parameters: cluster VARCHAR
-- The inputs are joined last: joining ten million rows of the union on input_id causes an internal
-- error in DuckDB 2.0.
WITH firsts AS (
    SELECT
        input_id,
        min(end_time) FILTER (start_time IS NOT NULL AND NOT superseded) AS ended,
        min(start_time) FILTER (NOT superseded) AS started,
        min(submit_time) FILTER (NOT superseded) AS submitted,
        min(coalesce(end_time, start_time, greatest(submit_time, eligible_time))) AS stamped
    FROM all_records
    WHERE cluster = $cluster
    GROUP BY input_id
)
SELECT
    source, dialect, min(ended) AS ended, min(started) AS started, min(submitted) AS submitted,
    min(stamped) AS stamped
FROM inputs JOIN firsts USING (input_id)
GROUP BY source, dialect
ORDER BY source, dialect
