-- The attempts of a cluster that a page about one user or account is made of: of all those that came
-- before an instant and had not ended at another; of the users and accounts named also those that ended
-- since "own_since", for the trend. "weight" is how many attempts its overtaken time counts for; NULL:
-- for none. In no order. Instants are epoch s; "until" NULL: all of which it is known when they came; "since" NULL: all.
-- parameters: cluster VARCHAR, schedule VARCHAR, counted VARCHAR[], until BIGINT, since BIGINT, own_since BIGINT, users VARCHAR[], accounts VARCHAR[]
SELECT
    pool, job_id, attempt, "user", account, partition, qos, standing, size, width_class, walltime_s,
    arrival_time, start_time, end_time, wait_s, occupancy_s,
    wait_room_s, wait_shared_s, wait_own_s, wait_earlier_s, wait_later_s, wait_down_s,
    peer_wait_s, overtaken_s,
    CASE
        WHEN overtaken_s IS NOT NULL AND miss_strict_s IS NOT NULL
            AND list_contains($counted::VARCHAR[], fst_status)
        THEN coalesce(fst_weight, 1)
    END AS weight
FROM all_results
WHERE cluster = $cluster AND schedule = $schedule AND arrival_time IS NOT NULL
    AND ($until IS NULL OR arrival_time < $until)
    AND (
        $since IS NULL OR end_time IS NULL OR end_time >= $since
        OR (
            end_time >= $own_since
            AND (list_contains($users::VARCHAR[], "user") OR list_contains($accounts::VARCHAR[], account))
        )
    )
