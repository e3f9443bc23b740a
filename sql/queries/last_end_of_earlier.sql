-- The last end of the attempts that arrived before an instant (epoch s); NULL if there are none.
-- parameters: cluster VARCHAR, before BIGINT
SELECT max(end_time) AS last
FROM records
WHERE cluster = $cluster AND NOT superseded
    AND least(coalesce(eligible_time, submit_time), start_time, end_time) < $before
