-- Reports of schedulers about jobs and nodes at given instants, from squeue, sprio and logs of schedulers.
CREATE OR REPLACE VIEW evidence AS
SELECT
    said.cluster,
    said.kind,
    to_timestamp(said.instant) AS instant,
    said.job_id,
    said.node,
    said.state,
    said.reason,
    said.priority,
    to_timestamp(said.expected_start) AS expected_start,
    run.run_id
FROM evidence_record AS said
LEFT JOIN run
    ON run.cluster = said.cluster AND run.stage = 'compute'
    AND said.instant >= run.from_time AND said.instant < run.to_time
ORDER BY said.cluster, said.instant, said.kind, said.job_id, said.node, said.state, said.reason, run.run_id;

COMMENT ON VIEW evidence IS 'Reports of schedulers about jobs and nodes at given instants, from squeue, sprio and logs of schedulers.';
COMMENT ON COLUMN evidence.cluster IS 'name of the cluster';
COMMENT ON COLUMN evidence.kind IS 'output or log that the row comes from: squeue, sprio, ctld-log, pbs-log or ge-schedule';
COMMENT ON COLUMN evidence.instant IS 'when the scheduler reported it';
COMMENT ON COLUMN evidence.job_id IS 'id of the job in the log; 7_* stands for all waiting tasks of array 7; NULL: about a node';
COMMENT ON COLUMN evidence.node IS 'name of the node; NULL: about a job';
COMMENT ON COLUMN evidence.state IS 'state of the job or node; in logs of schedulers HELD, RELEASED, RUNNING, ENDED or REQUEUED';
COMMENT ON COLUMN evidence.reason IS 'reason for pending; NULL: not reported';
COMMENT ON COLUMN evidence.priority IS 'priority of the job at that instant; NULL: not reported';
COMMENT ON COLUMN evidence.expected_start IS 'when the scheduler planned to start the job; NULL: not reported';
COMMENT ON COLUMN evidence.run_id IS 'run that computed the period of instant; see runs; NULL: none';
