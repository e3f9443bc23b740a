-- One row per attempt of a job and schedule. Start and end known: a subject of every metric; start NULL: never started, pending, or start unknown.
CREATE OR REPLACE VIEW job_fairness AS
SELECT
    cluster,
    pool,
    schedule,
    job_id,
    attempt,
    "user",
    account,
    "group",
    partition,
    qos,
    state,
    reason,
    priority,
    reservation,
    size,
    cpus,
    nodes,
    gpus,
    mem_bytes,
    to_timestamp(submit_time) AS submit_time,
    to_timestamp(arrival_time) AS arrival_time,
    to_timestamp(start_time) AS start_time,
    to_timestamp(end_time) AS end_time,
    wait_s,
    wait_room_s,
    wait_shared_s,
    wait_own_s,
    wait_earlier_s,
    wait_later_s,
    wait_down_s,
    peer_wait_s,
    to_timestamp(ready_time) AS ready_time,
    decision,
    kept_s,
    idle_s,
    idle_because,
    to_timestamp(start_modelled) AS start_modelled,
    overtaken_s,
    overtaken_own_s,
    unmodelled_s,
    occupancy_s,
    runtime_s,
    walltime_s,
    bounded_slowdown,
    fair_slowdown,
    width_class,
    overtaken_by,
    overtook,
    re_deserved,
    re_consumed,
    re_unfairness,
    to_timestamp(fst_strict) AS fst_strict,
    to_timestamp(fst_relaxed) AS fst_relaxed,
    fst_status,
    fst_weight,
    miss_strict_s,
    miss_relaxed_s,
    run_id
FROM all_results;

COMMENT ON VIEW job_fairness IS 'One row per attempt of a job and schedule. Start and end known: a subject of every metric; start NULL: never started, pending, or start unknown.';
COMMENT ON COLUMN job_fairness.cluster IS 'name of the cluster';
COMMENT ON COLUMN job_fairness.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN job_fairness.schedule IS 'observed, or the name of a simulated schedule';
COMMENT ON COLUMN job_fairness.job_id IS 'job as the log names it';
COMMENT ON COLUMN job_fairness.attempt IS '1, 2, …: executions of the job in order';
COMMENT ON COLUMN job_fairness."user" IS 'owner; NULL where the log names none';
COMMENT ON COLUMN job_fairness.account IS 'account charged; in SWF the group';
COMMENT ON COLUMN job_fairness."group" IS 'Unix group';
COMMENT ON COLUMN job_fairness.partition IS 'partition (queue) in which it was';
COMMENT ON COLUMN job_fairness.qos IS 'quality of service';
COMMENT ON COLUMN job_fairness.state IS 'state as the log says it';
COMMENT ON COLUMN job_fairness.reason IS 'why it was pending, where the log says so';
COMMENT ON COLUMN job_fairness.priority IS 'recorded priority';
COMMENT ON COLUMN job_fairness.reservation IS 'advance reservation it ran in';
COMMENT ON COLUMN job_fairness.size IS 'amount of the pool''s counted resource';
COMMENT ON COLUMN job_fairness.cpus IS 'CPUs allocated, else requested';
COMMENT ON COLUMN job_fairness.nodes IS 'nodes allocated, else requested';
COMMENT ON COLUMN job_fairness.gpus IS 'GPUs allocated, else requested';
COMMENT ON COLUMN job_fairness.mem_bytes IS 'memory allocated, else requested; bytes';
COMMENT ON COLUMN job_fairness.submit_time IS 'when it was submitted';
COMMENT ON COLUMN job_fairness.arrival_time IS 'min(eligible if known else submit, start)';
COMMENT ON COLUMN job_fairness.start_time IS 'when it started';
COMMENT ON COLUMN job_fairness.end_time IS 'when it ended; where it never started, when it left the queue';
COMMENT ON COLUMN job_fairness.wait_s IS 'start − arrival; s';
COMMENT ON COLUMN job_fairness.wait_room_s IS 'part of the wait in which there was room for it, even after all before it took theirs; s; NULL where no wait was taken apart';
COMMENT ON COLUMN job_fairness.wait_shared_s IS 'part of the wait in which there was room for it, but others before it could claim that; s; NULL where no wait was taken apart';
COMMENT ON COLUMN job_fairness.wait_own_s IS 'part of the wait in which what it lacked was in use by attempts of its own user; s; NULL where no wait was taken apart';
COMMENT ON COLUMN job_fairness.wait_earlier_s IS 'part of the wait in which what it lacked was in use by others that had arrived before it; s; NULL where no wait was taken apart';
COMMENT ON COLUMN job_fairness.wait_later_s IS 'part of the wait in which what it lacked was in use by others that arrived after it; s; NULL where no wait was taken apart';
COMMENT ON COLUMN job_fairness.wait_down_s IS 'part of the wait in which the pool had less than it asked for; s; NULL where no wait was taken apart';
COMMENT ON COLUMN job_fairness.peer_wait_s IS 'mean over its peer users of their mean wait; s; NULL with fewer than 20 peers of 3 users';
COMMENT ON COLUMN job_fairness.ready_time IS 'the first instant of its wait at which the modelled policy would have started it; NULL unforeseen, or not judged';
COMMENT ON COLUMN job_fairness.decision IS 'whether the modelled policy would have started it when the site did: on_time, late, unforeseen (never before its start), over_capacity; NULL where no decision was judged';
COMMENT ON COLUMN job_fairness.kept_s IS 'part of wait_room_s in which the modelled policy kept the room for others; s; NULL where no decision was judged';
COMMENT ON COLUMN job_fairness.idle_s IS 'part of wait_room_s in which the modelled policy would have started it; s; NULL where no decision was judged';
COMMENT ON COLUMN job_fairness.idle_because IS 'the first that holds of idle_s: limit, window, unexplained; NULL where idle_s is 0 or NULL';
COMMENT ON COLUMN job_fairness.start_modelled IS 'when the modelled policy would have started it from its snapshot, with all later arrivals; NULL never, or not computed';
COMMENT ON COLUMN job_fairness.overtaken_s IS 'start_modelled − fst_strict: what later arrivals cost it under the modelled policy, < 0 gained it; s; NULL without a forward start';
COMMENT ON COLUMN job_fairness.overtaken_own_s IS 'part of overtaken_s by later arrivals of its own user; s; NULL without a forward start';
COMMENT ON COLUMN job_fairness.unmodelled_s IS 'start − start_modelled: what the modelled policy does not explain, < 0 it started earlier; s; NULL without a forward start';
COMMENT ON COLUMN job_fairness.occupancy_s IS 'end − start; s';
COMMENT ON COLUMN job_fairness.runtime_s IS 'occupancy − suspended; s';
COMMENT ON COLUMN job_fairness.walltime_s IS 'limit asked for; s, NULL unknown or unlimited';
COMMENT ON COLUMN job_fairness.bounded_slowdown IS 'max(1, (end − arrival) / max(runtime, τ)), τ = metrics.tau_s; ≥ 1';
COMMENT ON COLUMN job_fairness.fair_slowdown IS 'bounded slowdown with the strict fair start time as start; ≥ 1; NULL without a fair start time';
COMMENT ON COLUMN job_fairness.width_class IS 'class of size: 1, 2, 3-4, 5-8, … 65-128, >128';
COMMENT ON COLUMN job_fairness.overtaken_by IS 'attempts that arrived later and started earlier';
COMMENT ON COLUMN job_fairness.overtook IS 'attempts that arrived earlier and started later';
COMMENT ON COLUMN job_fairness.re_deserved IS 'resource equality: ∫ size · used / active, as by metrics.resource_equality_weights; resource·s; NULL where the size is unknown';
COMMENT ON COLUMN job_fairness.re_consumed IS 'resource equality: occupancy · size; resource·s; NULL where the size is unknown';
COMMENT ON COLUMN job_fairness.re_unfairness IS 're_deserved − re_consumed, > 0 treated unfairly; resource·s; NULL where the size is unknown';
COMMENT ON COLUMN job_fairness.fst_strict IS 'strict fair start time; NULL until computed';
COMMENT ON COLUMN job_fairness.fst_relaxed IS 'relaxed fair start time; NULL until computed';
COMMENT ON COLUMN job_fairness.fst_status IS 'status of the fair start times; NULL until computed';
COMMENT ON COLUMN job_fairness.fst_weight IS 'how many attempts it stands for in figures of fair start times, 1 where all were computed; NULL where not sampled, or not ended';
COMMENT ON COLUMN job_fairness.miss_strict_s IS 'max(start − fst_strict, 0); s; NULL without a fair start time';
COMMENT ON COLUMN job_fairness.miss_relaxed_s IS 'max(start − fst_relaxed, 0); s; NULL without a fair start time';
COMMENT ON COLUMN job_fairness.run_id IS 'run that computed the row; see runs';
